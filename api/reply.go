package api

import (
	"context"
	"net/http"
	"strconv"

	"harness/internal/lib/javascript"
	"harness/internal/platform/telemetry"
)

const jsonType = "application/json; charset=utf-8"

// encoded is a body that is JSON already.
type encoded []byte

func encodeJSON(body any) ([]byte, error) {
	if text, done := body.(encoded); done {
		return text, nil
	}
	return javascript.Stringify(body)
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
