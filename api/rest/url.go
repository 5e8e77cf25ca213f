package rest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// DecodePath is JavaScript's decodeURI, but leaves %25 escaped so that a parameter is not decoded twice.
func DecodePath(escaped string) (path string, valid bool) {
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

// BadURLBody is the response body for a URL that cannot be read.
func BadURLBody(uri string) []byte {
	encoded, err := Encode(struct {
		Error      string `json:"error"`
		Code       string `json:"code"`
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	}{"Bad Request", "FST_ERR_BAD_URL", "'" + uri + "' is not a valid url component", http.StatusBadRequest})
	if err != nil {
		return InternalErrorBody() // strings and a number always encode
	}
	return encoded
}
