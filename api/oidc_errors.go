package api

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/telemetry"
)

// providerFailure is what becomes of a login at a provider that does not come about.
func providerFailure(err error) (rest.Failure, bool) {
	var refused *oidc.RefusedError
	switch {
	case errors.Is(err, oidc.ErrNoProvider):
		return rest.Problem(http.StatusNotFound, "login_provider_not_found", err.Error()), true
	case errors.Is(err, oidc.ErrUnavailable):
		return rest.Problem(http.StatusServiceUnavailable, "login_provider_unavailable",
			err.Error()+"; log in again later, or with a token"), true
	case !errors.As(err, &refused):
		return rest.Failure{}, false
	}
	status := http.StatusForbidden
	switch refused.Code {
	case "invalid_login_state":
		status = http.StatusBadRequest
	case "invalid_bearer_token":
		status = http.StatusUnauthorized
	}
	return rest.Problem(status, refused.Code, refused.Error()), true
}

func (s *server) loginRefused(ctx context.Context, err error) error {
	telemetry.Log(ctx).Warn().Err(err).Msg("a login at an OpenID Connect provider did not come about")
	return err
}

// loginPage shows a browser why its login failed, and programs as any other error.
func (s *server) loginPage(w http.ResponseWriter, r *http.Request, err error) {
	_ = s.loginRefused(r.Context(), err)
	failed := failureOf(err, &rest.Route{}, &rest.Input{})
	w.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		rest.WriteJSON(r.Context(), w, failed.Status, failed.Body)
		return
	}
	said := err.Error()
	if failed.Status == http.StatusInternalServerError {
		said = "this server failed; its log says why"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(failed.Status)
	page := template.Must(template.New("").Parse(refusedPage))
	_ = page.Execute(w, struct{ Said, Home string }{said, s.Logins.Home()}) // the browser may be gone
}

const refusedPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Login failed</title>
<h1>Login failed</h1>
<p>{{.Said}}</p>
<p><a href="{{.Home}}">Log in again</a></p>
</html>
`
