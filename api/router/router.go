// Package router finds the route of a request, for every protocol that is served by path.
//
// It owns the rules of matching. It must never know what a route does. It is the only package that knows Echo.
package router

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"
)

// Handler serves a request, with the names and values of its path parameters. The values are raw; the values in
// Request.PathValue are unescaped.
type Handler func(w http.ResponseWriter, r *http.Request, names, values []string)

// Router serves requests by their paths.
type Router struct {
	echo     *echo.Echo
	notFound http.HandlerFunc
}

// New creates a Router without routes. notFound responds to every request that matches no route.
func New(notFound http.HandlerFunc) *Router {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	// Handlers handle their own errors. Only the router's "not found" and "method not allowed" get here.
	e.HTTPErrorHandler = func(_ error, c echo.Context) { notFound(c.Response().Writer, c.Request()) }
	return &Router{echo: e, notFound: notFound}
}

// Add registers a path, with parameters as in /api/sessions/:sessionId. HEAD is served wherever GET is.
func (router *Router) Add(method, path string, handle Handler) {
	serve := func(c echo.Context) error {
		r, names, values := c.Request(), c.ParamNames(), c.ParamValues()
		for i, name := range names {
			if value, err := url.PathUnescape(values[i]); err == nil {
				r.SetPathValue(name, value)
			}
		}
		handle(c.Response().Writer, r, names, values)
		return nil
	}
	router.echo.Add(method, path, serve)
	if method == http.MethodGet {
		router.echo.Add(http.MethodHead, path, serve)
	}
}

// Find returns the path of the route that a request would match, "" for none.
func (router *Router) Find(method, path string) (route string, names, values []string) {
	c := router.echo.NewContext(nil, nil)
	router.echo.Router().Find(method, path, c)
	return c.Path(), c.ParamNames(), c.ParamValues()
}

// ServeHTTP implements http.Handler.
func (router *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		router.notFound(w, r) // Echo would respond with 204 and an Allow header
		return
	}
	router.echo.ServeHTTP(w, r)
}
