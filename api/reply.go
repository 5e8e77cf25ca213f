package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"harness/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// timeLayout is JavaScript's Date.toISOString.
const timeLayout = "2006-01-02T15:04:05.000Z"

func isoTime(ms int64) string { return time.UnixMilli(ms).UTC().Format(timeLayout) }

// encoded is a body that is JSON already.
type encoded []byte

// encodeJSON is JSON.stringify: compact, member order as declared, no HTML escaping.
func encodeJSON(body any) ([]byte, error) {
	if text, done := body.(encoded); done {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, err
	}
	return plainSeparators(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

// plainSeparators writes U+2028 and U+2029 as they are. encoding/json always escapes them; JSON.stringify does not.
func plainSeparators(text []byte) []byte {
	const escape = `\u202`
	if !bytes.Contains(text, []byte(escape)) {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && bytes.HasPrefix(rest, []byte(escape+"8")):
			plain = append(plain, "\u2028"...)
			i += len(escape)
		case rest[0] == '\\' && bytes.HasPrefix(rest, []byte(escape+"9")):
			plain = append(plain, "\u2029"...)
			i += len(escape)
		case rest[0] == '\\':
			plain = append(plain, rest[:2]...) // an escape is two bytes at least: the second is never the start of one
			i++
		default:
			plain = append(plain, rest[0])
		}
	}
	return plain
}

func (s *server) writeJSON(ctx context.Context, w http.ResponseWriter, status int, body any) {
	encoded, err := encodeJSON(body)
	if err != nil {
		telemetry.Log(ctx).Error().Err(err).Msg("reply does not encode as JSON")
		status, encoded = http.StatusInternalServerError, internalErrorBody()
	}
	writeRaw(w, status, jsonType, encoded)
}

// writeRaw sends the answer, compressed if the client asked for it, with its length, which HEAD requests are told too.
func writeRaw(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	if seen, isWatcher := w.(*responseWatcher); isWatcher {
		body = seen.coding.encode(header, body)
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A client that went away is not the handler's to mend.
	_, _ = w.Write(body)
}

// routeNotFound answers what no route matches, whatever the reason.
func (s *server) routeNotFound(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	s.writeJSON(r.Context(), w, http.StatusNotFound, struct {
		Message    string `json:"message"`
		Error      string `json:"error"`
		StatusCode int    `json:"statusCode"`
	}{"Route " + method + ":" + r.RequestURI + " not found", "Not Found", http.StatusNotFound})
}

func badURLBody(uri string) []byte {
	encoded, err := encodeJSON(struct {
		Error      string `json:"error"`
		Code       string `json:"code"`
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	}{"Bad Request", "FST_ERR_BAD_URL", "'" + uri + "' is not a valid url component", http.StatusBadRequest})
	if err != nil {
		return internalErrorBody() // strings and a number always encode
	}
	return encoded
}
