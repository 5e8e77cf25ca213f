package api

import (
	_ "embed" // openapi.yaml, asyncapi.yaml
	"net/http"
	"sync"

	"harness/api/openapi"
	"harness/api/rest"
)

// openAPIText is the document that all routes follow.
//
//go:embed openapi.yaml
var openAPIText []byte

// asyncAPIText describes the frames of the stream. It refers to the OpenAPI document for shared schemas.
//
//go:embed asyncapi.yaml
var asyncAPIText []byte

// documentRoutes serve the documents of this API. Each is parsed on first use.
func (s *server) documentRoutes() []rest.Route {
	document := sync.OnceValues(func() (*openapi.Document, error) { return openapi.New(openAPIText) })
	frames := sync.OnceValues(func() ([]byte, error) { return openapi.JSON(asyncAPIText) })
	form := func(of func(*openapi.Document) []byte) func() ([]byte, error) {
		return func() ([]byte, error) {
			read, err := document()
			if err != nil {
				return nil, err
			}
			return of(read), nil
		}
	}
	serve := func(contentType string, text func() ([]byte, error)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := text()
			if err != nil {
				s.failRaw(w, r, err)
				return
			}
			header := w.Header()
			header.Set("Cache-Control", "no-cache")
			header.Set("X-Content-Type-Options", "nosniff")
			// The page needs only its inline style.
			header.Set("Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			rest.WriteRaw(w, http.StatusOK, contentType, body)
		})
	}
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/openapi.json", Access: rest.AccessAnybody,
			Raw: serve(rest.JSONType, form((*openapi.Document).JSON))},
		{Method: http.MethodGet, Path: "/api/asyncapi.json", Access: rest.AccessAnybody, Raw: serve(rest.JSONType, frames)},
		{Method: http.MethodGet, Path: "/api/docs", Access: rest.AccessAnybody, Raw: serve("text/html; charset=utf-8",
			form((*openapi.Document).Page))},
	}
}
