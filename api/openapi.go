package api

import (
	_ "embed" // openapi.yaml
	"net/http"
	"sync"

	"harness/api/openapi"
	"harness/api/rest"
)

// openAPIText is the document all routes follow.
//
//go:embed openapi.yaml
var openAPIText []byte

// documentRoutes serve the document of this API. It is read when it is first asked for.
func (s *server) documentRoutes() []rest.Route {
	document := sync.OnceValues(func() (*openapi.Document, error) { return openapi.New(openAPIText) })
	serve := func(contentType string, form func(*openapi.Document) []byte) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			read, err := document()
			if err != nil {
				s.writeError(r.Context(), w, &rest.Route{Method: r.Method, Path: r.URL.Path}, &rest.Input{}, err)
				return
			}
			header := w.Header()
			header.Set("Cache-Control", "no-cache")
			header.Set("X-Content-Type-Options", "nosniff")
			// The page needs its own style and nothing else.
			header.Set("Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			writeRaw(w, http.StatusOK, contentType, form(read))
		})
	}
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/openapi.json", Raw: serve(jsonType, (*openapi.Document).JSON)},
		{Method: http.MethodGet, Path: "/api/docs", Raw: serve("text/html; charset=utf-8", (*openapi.Document).Page)},
	}
}
