package console

import (
	"net/http"
	"strings"
)

// Under lets a server work below a path of its host: it strips the path from requests that a proxy passes on unchanged.
// "" changes nothing.
func Under(basePath string, next http.Handler) http.Handler {
	if basePath == "" {
		return next
	}
	stripped := http.StripPrefix(basePath, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, basePath+"/"):
			stripped.ServeHTTP(w, r)
		case r.URL.Path == basePath:
			http.Redirect(w, r, basePath+"/", http.StatusPermanentRedirect)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
