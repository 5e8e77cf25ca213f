package auth

import (
	"context"
	"net/http"
	"strings"

	"harness/internal/platform/telemetry"
)

// AgentOptions are the rules of the agents' port.
type AgentOptions struct {
	// Session returns the session of a bearer token, "" while it has no name yet. genuine is false for a token that
	// this server did not make. An error means that the session cannot be determined now.
	Session func(ctx context.Context, bearer string) (id string, genuine bool, err error)
	// Refused, when set, is called with the code of every refusal.
	Refused func(code string)
}

// AgentGuard returns the middleware of the agents' port. A request needs the bearer token of a session (RFC 6750, in
// the header), and passes as that session's agent. Later handlers check the agent's rights. Guesses are not rate
// limited: a bearer is a signature, and an agent could otherwise block the others.
func AgentGuard(o AgentOptions) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			session, genuine, err := o.session(r)
			if err != nil || !genuine {
				o.refuse(w, r, err)
				return
			}
			next.ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), AgentPrincipal(session))))
		})
	}
}

// refuse answers a request without a bearer token, or with one that cannot be checked now.
func (o AgentOptions) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, code := http.StatusUnauthorized, "unauthorized"
	message := "this port is for agents: send Authorization: Bearer <HARNESS_SESSION_TOKEN>, as the session's environment has it"
	if err != nil {
		status, code, message = http.StatusServiceUnavailable, "unavailable", "the session of this bearer token cannot be checked now; try again"
	} else {
		w.Header().Set("WWW-Authenticate", `Bearer realm="harness"`)
	}
	if o.Refused != nil {
		o.Refused(code)
	}
	telemetry.Log(r.Context()).Warn().Err(err).Str("method", r.Method).Str("path", r.URL.Path).
		Msg("refused a request at the port for agents: it has no bearer token of a session of this server")
	refuse(w, status, code, message)
}

func (o AgentOptions) session(r *http.Request) (id string, genuine bool, err error) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", false, nil
	}
	scheme, bearer, _ := strings.Cut(headers[0], " ")
	if bearer = strings.TrimSpace(bearer); !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return "", false, nil
	}
	return o.Session(r.Context(), bearer)
}
