package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"harness/api/rest"
)

// mount puts the routes into an Echo router. This is the only file that knows Echo.
func mount(s *server, routes []rest.Route) http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Handlers answer for themselves: what reaches this handler is the router's "not found" and "method not allowed", one
	// and the same here.
	e.HTTPErrorHandler = func(_ error, c echo.Context) { s.routeNotFound(c.Response().Writer, c.Request()) }
	for _, r := range routes {
		route := openAPIPath(r.Path)
		handler := func(c echo.Context) error {
			note(c.Request().Context()).route = route
			s.serve(c.Response().Writer, c.Request(), &r, c.ParamNames(), c.ParamValues())
			return nil
		}
		e.Add(r.Method, r.Path, handler)
		if r.Method == http.MethodGet {
			e.Add(http.MethodHead, r.Path, handler)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			s.routeNotFound(w, r) // Echo would answer 204 with an Allow header
			return
		}
		e.ServeHTTP(w, r)
	})
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
