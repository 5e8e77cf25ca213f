package api

import (
	"net/http"
	"strings"

	"harness/api/calls"
	"harness/api/rest"
	"harness/api/router"
)

// mount registers the routes. It also returns a function that finds the route of a request that was refused earlier.
func mount(s *server, routes []rest.Route) (http.Handler, func(*http.Request) (calls.Route, bool)) {
	served := router.New(rest.NotFound)
	mounted := map[[2]string]*rest.Route{}
	for _, r := range routes {
		mounted[[2]string{r.Method, r.Path}] = &r
		route := openAPIPath(r.Path)
		served.Add(r.Method, r.Path, func(w http.ResponseWriter, req *http.Request, names, values []string) {
			rest.NoteOf(req.Context()).Route = route
			if calls.Changes(r.Method) {
				calls.Found(req.Context(), calledRoute(&r, names, values))
			}
			s.serve(w, req, &r, names, values)
		})
	}
	return served, func(req *http.Request) (calls.Route, bool) {
		path, _ := rest.DecodePath(req.URL.EscapedPath())
		route, names, values := served.Find(req.Method, path)
		r := mounted[[2]string{req.Method, route}]
		if r == nil {
			return calls.Route{}, false
		}
		return calledRoute(r, names, values), true
	}
}

// openAPIPath rewrites /a/:b as /a/{b}.
func openAPIPath(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if name, isParam := strings.CutPrefix(segment, ":"); isParam {
			segments[i] = "{" + name + "}"
		}
	}
	return strings.Join(segments, "/")
}
