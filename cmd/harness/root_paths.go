package main

import (
	"net/http"
	"net/url"
	"strings"

	v1 "harness/api/v1"
)

// atRoot also serves the task API at the root, as codesdkd does: programs append its paths to the printed URL. A
// browser that opens a page gets the console's page.
func atRoot(next http.Handler) http.Handler {
	first := map[string]bool{"artifacts": true}
	for _, route := range v1.Routes() {
		if path, below := strings.CutPrefix(route.Path, "/v1/"); below {
			segment, _, _ := strings.Cut(path, "/")
			first[segment] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		segment, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if (segment == "" && r.Method == http.MethodGet || first[segment]) && !strings.Contains(r.Header.Get("Accept"), "text/html") {
			inner := *r
			inner.URL = &url.URL{}
			*inner.URL = *r.URL
			inner.URL.Path = strings.TrimSuffix("/v1"+r.URL.Path, "/")
			if r.URL.RawPath != "" {
				inner.URL.RawPath = "/v1" + r.URL.RawPath
			}
			inner.RequestURI = inner.URL.RequestURI()
			r = &inner
		}
		next.ServeHTTP(w, r)
	})
}
