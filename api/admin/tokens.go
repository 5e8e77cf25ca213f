package admin

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/auth/tokens"
	"harness/internal/services/session"
)

// Tokens are the named access tokens; *tokens.Service implements it.
type Tokens interface {
	// List returns all tokens, including revoked ones, oldest first.
	List(ctx context.Context) ([]tokens.Token, error)
	// Create creates a token and returns its secret. No other method returns it.
	Create(ctx context.Context, wanted tokens.Token) (made tokens.Token, secret string, err error)
	// ChangeRole and Revoke return after the token's open connections are closed.
	ChangeRole(ctx context.Context, id string, role tokens.Role) (tokens.Token, error)
	Revoke(ctx context.Context, id string) (tokens.Token, error)
}

var (
	tokenRoleField  = schema.Enum(string(tokens.Viewer), string(tokens.CI), string(tokens.Operator), string(tokens.Admin))
	createTokenBody = schema.Struct(rest.Required("name", rest.Name), rest.Required("role", tokenRoleField),
		rest.Optional("expiresAt", schema.Nullable(schema.Text{}.Trim().Min(1))),
		rest.Optional("projects", schema.ListOf(schema.Text{}.Trim().Min(1).Max(operations.MaxProjectID))))
	changeTokenBody = schema.Struct(rest.Required("role", tokenRoleField))
)

func (s *tokenAPI) tokenRoutes() []rest.Route {
	const all, one = "/api/tokens", "/api/tokens/:tokenId"
	routes := []rest.Route{
		{Method: http.MethodGet, Path: all, Handle: s.listTokens},
		{Method: http.MethodPost, Path: all, Body: createTokenBody, Handle: s.createToken},
		{Method: http.MethodPatch, Path: one, Body: changeTokenBody, Handle: s.changeToken},
		{Method: http.MethodDelete, Path: one, Handle: s.revokeToken},
	}
	for i := range routes {
		routes[i].Access = rest.AccessAdmin
		if s.tokens == nil {
			routes[i].Raw = http.HandlerFunc(rest.NotFound)
		}
	}
	return routes
}

// tokenView is a token in the API. It has no secret.
type tokenView struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Role      tokens.Role `json:"role"`
	State     string      `json:"state"`
	CreatedAt string      `json:"createdAt"`
	CreatedBy string      `json:"createdBy"`
	ExpiresAt *string     `json:"expiresAt"`
	RevokedAt *string     `json:"revokedAt"`
	// Projects limits the token to these projects; absent for no limit.
	Projects *[]string `json:"projects,omitempty"`
}

func (s *tokenAPI) viewToken(t tokens.Token) tokenView {
	view := tokenView{ID: t.ID, Name: t.Name, Role: t.Role, State: "active", CreatedAt: javascript.ISOTime(t.CreatedAt),
		CreatedBy: t.CreatedBy}
	if t.Projects != nil {
		view.Projects = &t.Projects
	}
	if t.ExpiresAt != 0 {
		at := javascript.ISOTime(t.ExpiresAt)
		view.ExpiresAt = &at
		if t.ExpiresAt <= s.clock().UnixMilli() {
			view.State = "expired"
		}
	}
	if t.RevokedAt != 0 {
		at := javascript.ISOTime(t.RevokedAt)
		view.RevokedAt, view.State = &at, "revoked"
	}
	return view
}

func (s *tokenAPI) listTokens(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	all, err := s.tokens.List(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	views := make([]tokenView, len(all))
	for i, t := range all {
		views[i] = s.viewToken(t)
	}
	return rest.OK(rest.List[tokenView]{Data: views})
}

func (s *tokenAPI) createToken(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	wanted := tokens.Token{Name: in.Body.Get("name").Text(), Role: tokens.Role(in.Body.Get("role").Text()),
		CreatedBy: in.Actor}
	if given := in.Body.Get("expiresAt").TextPointer(); given != nil {
		at, err := time.Parse(time.RFC3339, *given)
		if err != nil {
			return rest.Reply{}, &tokens.InvalidError{Field: "expiresAt",
				Message: "Use a time as 2026-12-31T00:00:00Z"}
		}
		// A time in the past is refused like any other invalid time.
		wanted.ExpiresAt = max(at.UnixMilli(), 1)
	}
	var err error
	if wanted.Projects, err = s.projectsOf(ctx, in.Body.Get("projects")); err != nil {
		return rest.Reply{}, err
	}
	made, secret, err := s.tokens.Create(ctx, wanted)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string    `json:"status"`
		Token  tokenView `json:"token"`
		Secret string    `json:"secret"`
	}{"ok", s.viewToken(made), secret})
}

// projectsOf returns the projects that limit a token, nil for no limit. It refuses an unknown project, so that a typo
// shows up when the token is created.
func (s *tokenAPI) projectsOf(ctx context.Context, given schema.Value) ([]string, error) {
	if given.Kind() != schema.Array {
		return nil, nil
	}
	all, _, err := s.projects.ProjectsAt(ctx)
	if err != nil {
		return nil, err
	}
	wanted := []string{}
	for _, one := range given.Items() {
		id := one.Text()
		if !slices.ContainsFunc(all, func(p session.Project) bool { return p.ID == id }) {
			return nil, &tokens.InvalidError{Field: "projects", Message: "Unknown project " + id}
		}
		if !slices.Contains(wanted, id) {
			wanted = append(wanted, id)
		}
	}
	return wanted, nil
}

func (s *tokenAPI) changeToken(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	changed, err := s.tokens.ChangeRole(ctx, in.Params["tokenId"], tokens.Role(in.Body.Get("role").Text()))
	return s.tokenChanged(changed, err)
}

func (s *tokenAPI) revokeToken(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	revoked, err := s.tokens.Revoke(ctx, in.Params["tokenId"])
	return s.tokenChanged(revoked, err)
}

func (s *tokenAPI) tokenChanged(changed tokens.Token, err error) (rest.Reply, error) {
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string    `json:"status"`
		Token  tokenView `json:"token"`
	}{"ok", s.viewToken(changed)})
}

// tokenFailures maps the errors of named access tokens to responses.
func tokenFailures(err error, _ *rest.Route, in *rest.Input) (rest.Failure, bool) {
	var refused *tokens.InvalidError
	var taken *tokens.NameTakenError
	switch {
	case errors.As(err, &refused):
		return rest.Invalid(schema.Custom(refused.Message, refused.Field)), true
	case errors.As(err, &taken):
		return rest.Problem(http.StatusConflict, "name_taken", taken.Error()), true
	case errors.Is(err, tokens.ErrRevoked):
		return rest.Problem(http.StatusConflict, "token_revoked", err.Error()), true
	case errors.Is(err, tokens.ErrNotFound):
		return rest.Failure{Status: http.StatusNotFound, Body: struct {
			Status  string `json:"status"`
			TokenID string `json:"tokenId"`
		}{"not_found", in.Params["tokenId"]}}, true
	}
	return rest.Failure{}, false
}
