package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
)

var (
	settingsKeyField  = schema.Text{}.Trim().Min(1).Max(operations.MaxSettingKey)
	readSettingsQuery = schema.Struct(
		schema.Field{Name: "scope", Schema: schema.Default(scopeField, schema.StringValue(string(operations.ScopeSession)))},
		rest.Optional("key", settingsKeyField))
	dropSettingsQuery = schema.Struct(
		schema.Field{Name: "scope", Schema: schema.Default(scopeField, schema.StringValue(string(operations.ScopeSession)))},
		rest.Optional("actor", actorField), rest.Optional("source", sourceField))
	writeSettingsBody = schema.Struct(
		rest.Required("scope", scopeField), rest.Optional("key", settingsKeyField), rest.Required("value", schema.Any()),
		rest.Optional("settings", schema.Record(schema.Any())), rest.Optional("mode", schema.Enum("merge", "replace")),
		rest.Optional("actor", actorField), rest.Optional("source", sourceField))
	settingsKeyParam = schema.Struct(rest.Required("key", settingsKeyField))
)

// settingsRoutes manage the free-form part of controls. They validate queries before they check the session.
func (s *controls) settingsRoutes() []rest.Route {
	const all = "/api/sessions/:sessionId/settings"
	return []rest.Route{
		{Method: http.MethodGet, Path: all, Operation: operations.ReadControls, BodyFirst: true, Query: readSettingsQuery,
			Handle: s.getSettings},
		{Method: http.MethodPost, Path: all, Operation: operations.EditControls, Body: writeSettingsBody,
			Handle: s.setSettings},
		// Keys may have 240 characters, so the limit of path parameters does not apply.
		{Method: http.MethodDelete, Path: all + "/:key", LongParams: true, Operation: operations.EditControls,
			BodyFirst: true, Query: dropSettingsQuery, Handle: s.deleteSetting},
	}
}

func settingsOf(record schema.Value) map[string]json.RawMessage {
	settings := make(map[string]json.RawMessage, len(record.Members()))
	for _, member := range record.Members() {
		settings[member.Name] = member.Value.JSON()
	}
	return settings
}

// settingsView has all settings of a scope. Key names the setting in the request.
type settingsView struct {
	Status    string                     `json:"status"`
	SessionID string                     `json:"sessionId"`
	Scope     operations.Scope           `json:"scope"`
	Key       string                     `json:"key,omitempty"`
	Removed   *bool                      `json:"removed,omitempty"`
	Settings  map[string]json.RawMessage `json:"settings"`
}

func (s *controls) getSettings(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	scope := scopeOf(in.Query)
	settings, err := s.editor.Settings(ctx, in.SessionID(), scope)
	if err != nil {
		return rest.Reply{}, err
	}
	key := in.Query.Get("key")
	if !key.Defined() {
		return rest.OK(settingsView{Status: "ok", SessionID: in.SessionID(), Scope: scope, Settings: settings})
	}
	value, found := settings[key.Text()]
	return rest.OK(struct {
		Status    string           `json:"status"`
		SessionID string           `json:"sessionId"`
		Scope     operations.Scope `json:"scope"`
		Key       string           `json:"key"`
		Found     bool             `json:"found"`
		Value     json.RawMessage  `json:"value"`
	}{"ok", in.SessionID(), scope, key.Text(), found, value})
}

func (s *controls) setSettings(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	edit := operations.SettingsEdit{
		Key: in.Body.Get("key").TextPointer(), Value: in.Body.Get("value").JSON(),
		Replace: in.Body.Get("mode").Text() == "replace",
	}
	if settings := in.Body.Get("settings"); settings.Defined() {
		edit.Settings = settingsOf(settings)
	}
	change, err := s.editor.EditSettings(ctx, in.SessionID(), scopeOf(in.Body), edit, auditOf(in.Body))
	return settingsChanged(in, change, err, settingsView{Key: in.Body.Get("key").Text()})
}

func (s *controls) deleteSetting(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	key := in.Params["key"]
	if _, err := rest.Valid(settingsKeyParam,
		schema.ObjectValue(schema.Member{Name: "key", Value: schema.StringValue(key)})); err != nil {
		return rest.Reply{}, err
	}
	change, err := s.editor.DeleteSetting(ctx, in.SessionID(), scopeOf(in.Query), key, auditOf(in.Query))
	return settingsChanged(in, change, err, settingsView{Key: key, Removed: &change.Changed})
}

// settingsChanged completes the response to a change of settings.
func settingsChanged(in *rest.Input, change operations.Change, err error, view settingsView) (rest.Reply, error) {
	var locked *operations.LockedError
	if errors.As(err, &locked) {
		return rest.Reply{Status: http.StatusLocked, Body: struct {
			Status    string                     `json:"status"`
			Scope     operations.Scope           `json:"scope"`
			Message   string                     `json:"message"`
			SessionID string                     `json:"sessionId"`
			Settings  map[string]json.RawMessage `json:"settings"`
		}{"locked", operations.ScopeDefault, operations.LockReason, in.SessionID(), locked.Defaults.Settings}}, nil
	}
	if err != nil {
		return rest.Reply{}, err
	}
	view.Status, view.SessionID, view.Scope, view.Settings = outcome(
		change.Changed), in.SessionID(), change.Scope, change.Applied().Settings
	return rest.OK(view)
}
