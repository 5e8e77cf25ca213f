package admin

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

// loginRoutes log a browser in with a cookie and show the caller's identity.
func (s *loginAPI) loginRoutes() []rest.Route {
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
		if s.logins == nil {
			routes[i].Raw = http.HandlerFunc(rest.NotFound)
		}
	}
	return routes
}

// loginError refuses a login.
type loginError struct{ *auth.Refusal }

func (s *loginAPI) login(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	principal, cookie, refusal := s.logins.Open(in.Request, in.Body.Get("token").Text())
	if refusal != nil {
		telemetry.Log(ctx).Warn().Str("remote", in.Request.RemoteAddr).Str("code", refusal.Code).
			Msg("sign-in refused: invalid token")
		return rest.Reply{}, loginError{refusal}
	}
	return rest.Reply{Body: viewMe(principal, true), Cookie: cookie}, nil
}

// createLoginLink creates a link that logs in one browser as the caller.
func (s *loginAPI) createLoginLink(_ context.Context, in *rest.Input) (rest.Reply, error) {
	url, expires, refusal := s.logins.Link(in.Request)
	if refusal != nil {
		return rest.Reply{}, loginError{refusal}
	}
	return rest.Reply{Status: http.StatusCreated, Body: struct {
		URL       string `json:"url"`
		ExpiresAt string `json:"expiresAt"`
	}{url, javascript.ISOTime(expires.UnixMilli())}}, nil
}

// logout ends a login at a provider. For any other login it only removes the cookie, because the token still belongs
// to the person.
func (s *loginAPI) logout(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if secret := s.logins.Shown(in.Request); secret != "" && s.oidc.Kept != nil {
		if err := s.oidc.Kept.End(ctx, secret); err != nil {
			return rest.Reply{}, err
		}
	}
	return rest.Reply{Cookie: s.logins.Close(in.Request), Body: struct {
		Status string `json:"status"`
	}{"ok"}}, nil
}

func (s *loginAPI) me(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	principal, guarded := auth.PrincipalFrom(ctx)
	if !guarded {
		principal = auth.Principal{Actor: in.Actor, Role: auth.RoleOwner}
	}
	return rest.OK(viewMe(principal, auth.HasCookie(in.Request)))
}

// meView is the caller and the caller's permissions.
type meView struct {
	Status string `json:"status"`
	Actor  string `json:"actor"`
	// Name is the display name of a person who logged in at a provider; otherwise absent.
	Name string `json:"name,omitempty"`
	// Role is the role of the token, or "owner".
	Role string `json:"role"`
	// Allowed lists the kinds of operation; see allowedKinds.
	Allowed []string `json:"allowed"`
	// Projects limits the caller to these projects; absent for no limit.
	Projects *[]string `json:"projects,omitempty"`
	// Login means that the caller used a cookie, which logging out removes.
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

// allowedKinds returns the kinds of operation that a role may call, under their documented names: read, write
// transcripts, work with sessions, administer the server.
func allowedKinds(role auth.Role) []string {
	allowed := []string{}
	for _, kind := range []struct {
		name   string
		access rest.Access
	}{
		{"read", rest.AccessViewer}, {"transcripts", rest.AccessTranscript}, {"work", rest.AccessOperator},
		{"administer", rest.AccessAdmin},
	} {
		if rest.MayUse(role, &rest.Route{Access: kind.access}) {
			allowed = append(allowed, kind.name)
		}
	}
	return allowed
}

// loginFailures maps login errors to responses.
func loginFailures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	var refused loginError
	if errors.As(err, &refused) {
		f := rest.Problem(refused.HTTPStatus, refused.Code, refused.Words())
		f.Retry, f.RetryAfter = refused.HTTPStatus == http.StatusTooManyRequests, auth.RetryGuess
		return f, true
	}
	return providerFailure(err)
}
