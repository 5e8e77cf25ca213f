package server

import (
	"fmt"
	"net/http"

	"harness/internal/lib/javascript"
)

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
