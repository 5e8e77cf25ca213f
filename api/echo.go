package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"harness/api/calls"
	"harness/api/rest"
)

// mount puts the routes into an Echo router, and tells how to find the one of a request that did not get there. This is
// the only file that knows Echo.
func mount(s *server, routes []rest.Route) (http.Handler, func(*http.Request) (calls.Route, bool)) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Handlers answer for themselves: what reaches this handler is the router's "not found" and "method not allowed", one
	// and the same here.
	e.HTTPErrorHandler = func(_ error, c echo.Context) { s.routeNotFound(c.Response().Writer, c.Request()) }
	mounted := map[[2]string]*rest.Route{}
	for _, r := range routes {
		mounted[[2]string{r.Method, r.Path}] = &r
		route := openAPIPath(r.Path)
		handler := func(c echo.Context) error {
			note(c.Request().Context()).route = route
			if calls.Changes(r.Method) {
				calls.Found(c.Request().Context(), calledRoute(&r, c.ParamNames(), c.ParamValues()))
			}
			s.serve(c.Response().Writer, c.Request(), &r, c.ParamNames(), c.ParamValues())
			return nil
		}
		e.Add(r.Method, r.Path, handler)
		if r.Method == http.MethodGet {
			e.Add(http.MethodHead, r.Path, handler)
		}
	}
	find := func(req *http.Request) (calls.Route, bool) {
		path, _ := decodePath(req.URL.EscapedPath())
		c := e.NewContext(nil, nil)
		e.Router().Find(req.Method, path, c)
		r := mounted[[2]string{req.Method, c.Path()}]
		if r == nil {
			return calls.Route{}, false
		}
		return calledRoute(r, c.ParamNames(), c.ParamValues()), true
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			s.routeNotFound(w, r) // Echo would answer 204 with an Allow header
			return
		}
		e.ServeHTTP(w, r)
	})
	return handler, find
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
