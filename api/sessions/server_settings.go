package sessions

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

// Setting is one setting at the start of this server, safe to show: secrets are redacted. Source is where it was set,
// otherwise "default".
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

var serverSettingsBody = schema.Struct(rest.Required("defaults", controlsField))

// serverSettingsRoutes show the server's settings and change those that need no restart. They show paths and
// addresses only to administrators.
func (s *controls) serverSettingsRoutes() []rest.Route {
	const all = "/api/server/settings"
	return []rest.Route{
		{Method: http.MethodGet, Path: all, Access: rest.AccessAdmin, Handle: s.getServerSettings},
		{Method: http.MethodPost, Path: all, Access: rest.AccessAdmin, Body: serverSettingsBody, Handle: s.setDefaults},
	}
}

// defaultsView has the defaults of new sessions, and reports whether a client may change them.
type defaultsView struct {
	Defaults   session.Controls `json:"defaults"`
	Editable   bool             `json:"defaultsEditable"`
	LockReason *string          `json:"defaultLockReason"`
}

func (s *controls) viewDefaults(defaults session.Controls) defaultsView {
	view := defaultsView{Defaults: defaults, Editable: !s.editor.DefaultsLocked()}
	if !view.Editable {
		reason := operations.LockReason
		view.LockReason = &reason
	}
	return view
}

func (s *controls) getServerSettings(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	defaults, err := s.editor.Defaults(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Data []Setting `json:"data"`
		defaultsView
	}{append([]Setting{}, s.settings...), s.viewDefaults(defaults)})
}

func (s *controls) setDefaults(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, changed, err := s.editor.SetDefaults(ctx, controlsOf(in.Body.Get("defaults")))
	var locked *operations.LockedError
	if errors.As(err, &locked) {
		return rest.Reply{Status: http.StatusLocked, Body: struct {
			Status  string `json:"status"`
			Message string `json:"message"`
			defaultsView
		}{"locked", operations.LockReason, s.viewDefaults(locked.Defaults)}}, nil
	}
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string `json:"status"`
		defaultsView
	}{outcome(changed), s.viewDefaults(now)})
}
