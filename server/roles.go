package server

import (
	"fmt"
	"net/http"

	"harness/internal/lib/javascript"
	"harness/internal/platform/config"
)

// checkRoles refuses roles with which the server would have no work.
func checkRoles(cfg *config.Config) error {
	var role string
	switch {
	case cfg.Serves() && cfg.Runs():
		return nil
	case cfg.Serves():
		role = "api"
	case cfg.Runs():
		role = "runner"
	default:
		return config.Usagef("HARNESS_ROLES names no role: set it to api, runner or api,runner, or unset it")
	}
	switch {
	case cfg.DatabaseURL == "":
		return config.Usagef("HARNESS_ROLES=%s is for several servers on one Postgres, and this one has a SQLite store of its own: "+
			"set DATABASE_URL, or unset HARNESS_ROLES", role)
	case cfg.Node.Address == "":
		return config.Usagef("HARNESS_ROLES=%s works only with other servers: set HARNESS_NODE_ADDRESS to where they reach "+
			"it, or unset HARNESS_ROLES", role)
	case !cfg.Runs() && len(cfg.AdoptNodes) > 0:
		return config.Usagef("HARNESS_ADOPT_NODES gives sessions to a server that runs agents, and HARNESS_ROLES=api says that this " +
			"one does not: set it at one with the role runner")
	}
	return nil
}

// ofRole rejects clients at a server whose roles do not include them: it answers only health checks and its own agents.
func (s *core) ofRole(next http.Handler) http.Handler {
	if s.cfg.Serves() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/health", "/api/ready", "/readyz", "/healthz", "/metrics":
			next.ServeHTTP(w, r)
			return
		}
		if throughAgentsPort(r) {
			next.ServeHTTP(w, r)
			return
		}
		body, err := javascript.Encode(map[string]string{"status": "error", "code": "no_api", "message": fmt.Sprintf(
			"node %s runs agents and answers no clients (HARNESS_ROLES=runner): ask a server with the role api, or start this one "+
				"with HARNESS_ROLES=api,runner", s.dir.NodeID)})
		if err != nil { // texts can always be encoded
			body = nil
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_, _ = w.Write([]byte(body)) // the client may have disconnected
	})
}
