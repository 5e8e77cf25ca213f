package api

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf16"

	"harness/api/rest"
)

// maxParam is the maximum length of a path parameter, in UTF-16 units. With a longer one, no route matches.
const maxParam = 100

// normaliseURL decodes the path as far as routing requires. /api/%68ealth becomes /api/health, but an escaped slash
// does not separate segments. Like other reserved characters, it stays escaped until its parameter is read.
func (s *server) normaliseURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if strings.IndexByte(escaped, '%') < 0 {
			next.ServeHTTP(w, r)
			return
		}
		path, valid := rest.DecodePath(escaped)
		if !valid {
			rest.WriteRaw(w, http.StatusBadRequest, "application/json", rest.BadURLBody(r.RequestURI))
			return
		}
		// The router matches on RawPath when there is one.
		u := *r.URL
		u.RawPath = path
		routed := *r
		routed.URL = &u
		next.ServeHTTP(w, &routed)
	})
}

// readParams decodes the path parameters. It returns false if one is empty or too long; then no route matches.
func readParams(r *rest.Route, names, values []string) (map[string]string, bool) {
	params := make(map[string]string, len(names))
	for i, name := range names {
		value, err := url.PathUnescape(values[i])
		if err != nil || value == "" || !r.LongParams && utf16Length(value) > maxParam {
			return nil, false
		}
		params[name] = value
	}
	return params, true
}

func utf16Length(text string) int {
	if len(text) <= maxParam {
		return len(text) // cannot be longer than its bytes
	}
	return len(utf16.Encode([]rune(text)))
}
