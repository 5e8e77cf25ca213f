package api

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"harness/api/rest"
)

// maxParam is how long a path parameter may be, in UTF-16 units, before no route matches it.
const maxParam = 100

// normaliseURL decodes the path as far as routing sees it: /api/%68ealth is /api/health, but an escaped slash separates
// nothing. It stays escaped, with the other reserved characters, until the parameter it is part of is read.
func (s *server) normaliseURL(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if strings.IndexByte(escaped, '%') < 0 {
			next.ServeHTTP(w, r)
			return
		}
		path, valid := decodePath(escaped)
		if !valid {
			rest.WriteRaw(w, http.StatusBadRequest, "application/json", badURLBody(r.RequestURI))
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

// decodePath is JavaScript's decodeURI, with %25 kept escaped so that a parameter is not decoded twice.
func decodePath(escaped string) (path string, valid bool) {
	decoded, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(decoded) {
		return "", false
	}
	var out strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			out.WriteByte(escaped[i])
			continue
		}
		b := unhex(escaped[i+1])<<4 | unhex(escaped[i+2])
		if strings.IndexByte(";/?:@&=+$,#%", b) >= 0 {
			out.WriteString(escaped[i : i+3])
		} else {
			out.WriteByte(b)
		}
		i += 2
	}
	return out.String(), true
}

func unhex(digit byte) byte {
	switch {
	case digit >= 'a':
		return digit - 'a' + 10
	case digit >= 'A':
		return digit - 'A' + 10
	}
	return digit - '0'
}

// readParams decodes the path parameters. False means that no route is meant: one is empty or too long.
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
