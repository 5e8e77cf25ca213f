package rest

import (
	"context"
	"net/http"
	"strconv"

	"harness/internal/lib/javascript"
	"harness/internal/platform/telemetry"
)

// JSONType is the type of JSON bodies.
const JSONType = "application/json; charset=utf-8"

// Encoded is a body that is JSON already.
type Encoded []byte

// Encode is a body as JSON.
func Encode(body any) ([]byte, error) {
	if text, done := body.(Encoded); done {
		return text, nil
	}
	return javascript.Stringify(body)
}

// WriteJSON sends an answer.
func WriteJSON(ctx context.Context, w http.ResponseWriter, status int, body any) {
	encoded, err := Encode(body)
	if err != nil {
		telemetry.Log(ctx).Error().Err(err).Msg("reply does not encode as JSON")
		status, encoded = http.StatusInternalServerError, InternalErrorBody()
	}
	WriteRaw(w, status, JSONType, encoded)
}

// Compressor is a writer whose client may take compressed answers.
type Compressor interface {
	// Compress is a body as the client takes it; it says in the header how.
	Compress(header http.Header, body []byte) []byte
}

// WriteRaw sends an answer, compressed if the client asked for it, with its length, which HEAD requests get too.
func WriteRaw(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	if compressor, is := w.(Compressor); is {
		body = compressor.Compress(header, body)
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A client that went away is not the handler's to mend.
	_, _ = w.Write(body)
}

// NotFound answers what no route matches, whatever the reason.
func NotFound(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	WriteJSON(r.Context(), w, http.StatusNotFound, struct {
		Message    string `json:"message"`
		Error      string `json:"error"`
		StatusCode int    `json:"statusCode"`
	}{"Route " + method + ":" + r.RequestURI + " not found", "Not Found", http.StatusNotFound})
}

// InternalErrorBody is the body of a failure of which the client gets no reason.
func InternalErrorBody() []byte {
	return []byte(`{"status":"error","code":"internal_error","message":"internal server error"}`)
}

// TextOrNull is a text, null for "".
func TextOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
