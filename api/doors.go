package api

import (
	"net/http"
	"slices"

	"harness/api/rest"
)

// besideDoors serves Doors; next serves all other requests, and those of / that are no upgrade. A page gets here only
// from an allowed origin.
func (s *server) besideDoors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door, agent := s.Doors[r.URL.Path], rest.AgentNothing
		if slices.Contains(s.AgentDoors, r.URL.Path) {
			agent = rest.AgentAnything
		}
		if door == nil || r.URL.Path == "/" && (r.Method != http.MethodGet || r.Header.Get("Upgrade") == "") {
			next.ServeHTTP(w, r)
			return
		}
		route := rest.Route{Method: r.Method, Path: r.URL.Path, Access: rest.AccessViewer, Agent: agent, OwnReach: true, Raw: door}
		s.serve(w, r, &route, nil, nil)
	})
}
