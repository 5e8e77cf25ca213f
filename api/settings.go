package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

var (
	settingsKeyField  = schema.Text{}.Trim().Min(1).Max(240)
	readSettingsQuery = schema.Struct(schema.Field{Name: "scope", Schema: schema.Default(scopeField, schema.StringValue(scopeSession))}, optional("key", settingsKeyField))
	dropSettingsQuery = schema.Struct(
		schema.Field{Name: "scope", Schema: schema.Default(scopeField, schema.StringValue(scopeSession))}, optional("actor", actorField), optional("source", sourceField))
	writeSettingsBody = schema.Struct(
		required("scope", scopeField), optional("key", settingsKeyField), required("value", schema.Any()), optional("settings", schema.Record(schema.Any())),
		optional("mode", schema.Enum("merge", "replace")), optional("actor", actorField), optional("source", sourceField))
	settingsKeyParam = schema.Struct(required("key", settingsKeyField))
)

// settingsRoutes are about the free-form part of controls. Their queries are validated before the session is looked at.
func (s *server) settingsRoutes() []route {
	const all = "/api/sessions/:sessionId/settings"
	return []route{
		{method: http.MethodGet, path: all, guards: userSession, bodyFirst: true, query: readSettingsQuery, handle: s.getSettings},
		{method: http.MethodPost, path: all, guards: userSession, body: writeSettingsBody, handle: s.setSettings},
		// Keys may be 240 characters long, so the limit of path parameters is not theirs.
		{method: http.MethodDelete, path: all + "/:key", longParams: true, guards: userSession, bodyFirst: true, query: dropSettingsQuery, handle: s.deleteSetting},
	}
}

// withSettings makes settings an object, so that they never show as null.
func withSettings(c session.Controls) session.Controls {
	if c.Settings == nil {
		c.Settings = map[string]json.RawMessage{}
	}
	return c
}

func settingsOf(record schema.Value) map[string]json.RawMessage {
	settings := make(map[string]json.RawMessage, len(record.Members()))
	for _, member := range record.Members() {
		settings[member.Name] = member.Value.JSON()
	}
	return settings
}

func scoped(scope string, controls, defaults session.Controls) map[string]json.RawMessage {
	if scope == scopeDefault {
		return withSettings(defaults).Settings
	}
	return withSettings(controls).Settings
}

// settingsView answers about all settings of a scope; Key names the one a request was about.
type settingsView struct {
	Status    string                     `json:"status"`
	SessionID string                     `json:"sessionId"`
	Scope     string                     `json:"scope"`
	Key       string                     `json:"key,omitempty"`
	Removed   *bool                      `json:"removed,omitempty"`
	Settings  map[string]json.RawMessage `json:"settings"`
}

func (s *server) getSettings(ctx context.Context, in *input) (reply, error) {
	scope := in.query.Get("scope").Text()
	controls, defaults, err := s.Controls.Controls(ctx, in.sessionID())
	if err != nil {
		return reply{}, err
	}
	settings := scoped(scope, controls, defaults)
	key := in.query.Get("key")
	if !key.Defined() {
		return ok(settingsView{Status: "ok", SessionID: in.sessionID(), Scope: scope, Settings: settings})
	}
	value, found := settings[key.Text()]
	return ok(struct {
		Status    string          `json:"status"`
		SessionID string          `json:"sessionId"`
		Scope     string          `json:"scope"`
		Key       string          `json:"key"`
		Found     bool            `json:"found"`
		Value     json.RawMessage `json:"value"`
	}{"ok", in.sessionID(), scope, key.Text(), found, value})
}

// payloadError is a settings body whose parts do not go together; its message is part of the contract.
type payloadError struct{ message string }

func (e *payloadError) Error() string { return e.message }

func checkSettingsParts(body schema.Value) error {
	key, value, settings := body.Get("key").Defined(), body.Get("value").Defined(), body.Get("settings").Defined()
	switch {
	case !key && !value && !settings:
		return &payloadError{"settings payload must include {settings} or {key,value}"}
	case settings && (key || value):
		return &payloadError{"settings payload must use either {settings} or {key,value}, not both"}
	case !settings && (!key || !value):
		return &payloadError{"key and value are required when updating a single settings entry"}
	}
	return nil
}

func (s *server) setSettings(ctx context.Context, in *input) (reply, error) {
	if err := checkSettingsParts(in.body); err != nil {
		return reply{}, err
	}
	scope, key := in.body.Get("scope").Text(), in.body.Get("key").Text()
	change, err := s.editSettings(ctx, in, scope, auditOf(in.body, "api"), func(current map[string]json.RawMessage) map[string]json.RawMessage {
		if key != "" {
			current[key] = in.body.Get("value").JSON()
			return current
		}
		given := settingsOf(in.body.Get("settings"))
		if in.body.Get("mode").Text() == "replace" {
			return given
		}
		maps.Copy(current, given)
		return current
	})
	if err != nil {
		return reply{}, err
	}
	return ok(settingsView{
		Status: outcome(change.Changed), SessionID: in.sessionID(), Scope: scope, Key: key, Settings: scoped(scope, change.Controls, change.Defaults),
	})
}

// editSettings edits a copy of the scope's settings, unless they are locked.
func (s *server) editSettings(
	ctx context.Context, in *input, scope string, audit *ControlAudit, edit func(map[string]json.RawMessage) map[string]json.RawMessage,
) (ControlChange, error) {
	if scope == scopeDefault && s.DefaultsLocked {
		_, defaults, err := s.Controls.Controls(ctx, in.sessionID())
		if err != nil {
			return ControlChange{}, err
		}
		return ControlChange{}, &lockedError{body: struct {
			Status    string                     `json:"status"`
			Scope     string                     `json:"scope"`
			Message   string                     `json:"message"`
			SessionID string                     `json:"sessionId"`
			Settings  map[string]json.RawMessage `json:"settings"`
		}{"locked", scope, lockReason, in.sessionID(), withSettings(defaults).Settings}}
	}
	return s.Controls.EditControls(ctx, in.sessionID(), ControlEdit{
		Defaults: scope == scopeDefault, Audit: audit,
		Edit: func(current session.Controls) session.Controls {
			current.Settings = edit(maps.Clone(withSettings(current).Settings))
			return current
		},
	})
}

func (s *server) deleteSetting(ctx context.Context, in *input) (reply, error) {
	key := in.params["key"]
	if _, err := valid(settingsKeyParam, schema.ObjectValue(schema.Member{Name: "key", Value: schema.StringValue(key)})); err != nil {
		return reply{}, err
	}
	scope := in.query.Get("scope").Text()
	change, err := s.editSettings(ctx, in, scope, auditOf(in.query, "api"), func(current map[string]json.RawMessage) map[string]json.RawMessage {
		delete(current, key)
		return current
	})
	if err != nil {
		return reply{}, err
	}
	return ok(settingsView{
		Status: outcome(change.Changed), SessionID: in.sessionID(), Scope: scope, Key: key, Removed: &change.Changed,
		Settings: scoped(scope, change.Controls, change.Defaults),
	})
}
