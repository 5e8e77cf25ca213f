package api

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/operations"
	"harness/session"
)

// Setting is one of what this server was started with, fit to be shown: a secret is redacted. Source is where it was
// set, "default" where nobody did.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// serverSettingsRoutes tell what the server runs with. Who administers it may know paths and addresses.
func (s *server) serverSettingsRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodGet, Path: "/api/server/settings", Access: rest.AccessAdmin,
		Handle: s.getServerSettings}}
}

// defaultsView is what new sessions start with, and whether that is a client's to change.
type defaultsView struct {
	Defaults   session.Controls `json:"defaults"`
	Editable   bool             `json:"defaultsEditable"`
	LockReason *string          `json:"defaultLockReason"`
}

func (s *server) viewDefaults(defaults session.Controls) defaultsView {
	view := defaultsView{Defaults: defaults, Editable: !s.Operations.DefaultsLocked()}
	if !view.Editable {
		reason := operations.LockReason
		view.LockReason = &reason
	}
	return view
}

func (s *server) getServerSettings(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	defaults, err := s.Operations.Defaults(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Data []Setting `json:"data"`
		defaultsView
	}{append([]Setting{}, s.Settings...), s.viewDefaults(defaults)})
}
