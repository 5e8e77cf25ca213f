package admin

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

// providerFailure is a failed login at a provider.
func providerFailure(err error) (rest.Failure, bool) {
	var refused *oidc.RefusedError
	switch {
	case errors.Is(err, oidc.ErrNoProvider):
		return rest.Problem(http.StatusNotFound, "login_provider_not_found", err.Error()), true
	case errors.Is(err, oidc.ErrUnavailable):
		return rest.Problem(http.StatusServiceUnavailable, "login_provider_unavailable",
			err.Error()+"; sign in again later, or with a token"), true
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

func (s *loginAPI) loginRefused(ctx context.Context, err error) error {
	telemetry.Log(ctx).Warn().Err(err).Msg("sign-in at an OpenID Connect provider failed")
	return err
}

// loginPage shows a browser why its login failed. Other clients get the usual error.
func (s *loginAPI) loginPage(w http.ResponseWriter, r *http.Request, err error) {
	_ = s.loginRefused(r.Context(), err)
	failed := s.failureOf(err)
	w.Header().Set("Cache-Control", "no-store")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		rest.WriteJSON(r.Context(), w, failed.Status, failed.Body)
		return
	}
	said := err.Error()
	if failed.Status == http.StatusInternalServerError {
		said = "this server failed; its log has the cause"
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(failed.Status)
	page := template.Must(template.New("").Parse(refusedPage))
	_ = page.Execute(w, struct{ Said, Home string }{said, s.logins.Home()}) // the browser may have disconnected
}

const refusedPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Login failed</title>
<h1>Login failed</h1>
<p>{{.Said}}</p>
<p><a href="{{.Home}}">Log in again</a></p>
</html>
`
