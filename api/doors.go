package api

import (
	"net/http"

	"harness/api/mcp"
	"harness/api/rest"
)

// besideDoors serves Doors and Control; next serves all other requests, and those of / that are no upgrade. A page gets
// here only from an allowed origin, and an agent only at Control.
func (s *server) besideDoors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door, agent := s.Doors[r.URL.Path], rest.AgentNothing
		if r.URL.Path == mcp.Path {
			if door = s.Control; s.ControlAgents {
				agent = rest.AgentAnything
			}
		}
		if door == nil || r.URL.Path == "/" && (r.Method != http.MethodGet || r.Header.Get("Upgrade") == "") {
			next.ServeHTTP(w, r)
			return
		}
		route := rest.Route{Method: r.Method, Path: r.URL.Path, Access: rest.AccessViewer, Agent: agent, OwnReach: true, Raw: door}
		s.serve(w, r, &route, nil, nil)
	})
}
