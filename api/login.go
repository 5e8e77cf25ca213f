package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
)

var loginTokenBody = schema.Struct(rest.Required("token", schema.Text{}.Trim().Min(1)))

const loginLinksPath = "/api/login/links"

// loginRoutes let a browser in by a cookie, and tell it who it is.
func (s *server) loginRoutes() []rest.Route {
	routes := []rest.Route{
		{Method: http.MethodPost, Path: "/api/login", Body: loginTokenBody, Handle: s.login},
		{Method: http.MethodPost, Path: loginLinksPath, Handle: s.createLoginLink},
		{Method: http.MethodPost, Path: "/api/logout", Handle: s.logout},
		{Method: http.MethodGet, Path: "/api/me", Handle: s.me},
	}
	for i := range routes {
		routes[i].Access = rest.AccessAnybody
		if routes[i].Path == loginLinksPath {
			routes[i].Access = rest.AccessAdmin
		}
		if s.Logins == nil {
			routes[i].Raw = http.HandlerFunc(rest.NotFound)
		}
	}
	return routes
}

// loginError refuses a login.
type loginError struct{ *auth.Refusal }

func (s *server) login(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	principal, cookie, refusal := s.Logins.Open(in.Request, in.Body.Get("token").Text())
	if refusal != nil {
		telemetry.Log(ctx).Warn().Str("remote", in.Request.RemoteAddr).Str("code", refusal.Code).
			Msg("refused a login: the token does not count here")
		return rest.Reply{}, loginError{refusal}
	}
	return rest.Reply{Body: viewMe(principal, true), Cookie: cookie}, nil
}

// createLoginLink makes a link that logs one browser in as who asks.
func (s *server) createLoginLink(_ context.Context, in *rest.Input) (rest.Reply, error) {
	url, expires, refusal := s.Logins.Link(in.Request)
	if refusal != nil {
		return rest.Reply{}, loginError{refusal}
	}
	return rest.Reply{Status: http.StatusCreated, Body: struct {
		URL       string `json:"url"`
		ExpiresAt string `json:"expiresAt"`
	}{url, javascript.ISOTime(expires.UnixMilli())}}, nil
}

// logout ends the login at a provider that is shown. Of any other it takes the browser's cookie alone: the token in it belongs
// to a person.
func (s *server) logout(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if secret := s.Logins.Shown(in.Request); secret != "" && s.OIDC.Kept != nil {
		if err := s.OIDC.Kept.End(ctx, secret); err != nil {
			return rest.Reply{}, err
		}
	}
	return rest.Reply{Cookie: s.Logins.Close(in.Request), Body: struct {
		Status string `json:"status"`
	}{"ok"}}, nil
}

func (s *server) me(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	principal, guarded := auth.PrincipalFrom(ctx)
	if !guarded {
		principal = auth.Principal{Actor: in.Actor, Role: auth.RoleOwner}
	}
	return rest.OK(viewMe(principal, auth.HasCookie(in.Request)))
}

// meView is who asks and what that one may do.
type meView struct {
	Status string `json:"status"`
	Actor  string `json:"actor"`
	// Name is what people call who logged in at a provider, absent for others.
	Name string `json:"name,omitempty"`
	// Role is that of the token, or "owner".
	Role string `json:"role"`
	// Allowed are the kinds of operation, see allowedKinds.
	Allowed []string `json:"allowed"`
	// Projects are those it is limited to, absent for no limit.
	Projects *[]string `json:"projects,omitempty"`
	// Login: by a cookie, which logging out takes away.
	Login bool `json:"login"`
}

func viewMe(principal auth.Principal, login bool) meView {
	view := meView{Status: "ok", Actor: principal.Actor, Name: principal.Name, Role: principal.Role.Word(),
		Allowed: allowedKinds(principal.Role),
		Login:   login}
	if ids := principal.Projects.IDs(); principal.Projects != nil {
		view.Projects = &ids
	}
	return view
}

// allowedKinds says what a role may do, in the words of the documentation: read, write transcripts, work with sessions,
// administer the server.
func allowedKinds(role auth.Role) []string {
	allowed := []string{}
	for _, kind := range []struct {
		name   string
		access rest.Access
	}{
		{"read", rest.AccessViewer}, {"transcripts", rest.AccessTranscript}, {"work", rest.AccessOperator},
		{"administer", rest.AccessAdmin},
	} {
		if mayUse(role, &rest.Route{Access: kind.access}) {
			allowed = append(allowed, kind.name)
		}
	}
	return allowed
}

// loginFailures is that row of the error table.
func loginFailures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	var refused loginError
	if errors.As(err, &refused) {
		f := rest.Problem(refused.HTTPStatus, refused.Code, refused.Words())
		f.Retry, f.RetryAfter = refused.HTTPStatus == http.StatusTooManyRequests, auth.RetryGuess
		return f, true
	}
	return providerFailure(err)
}
