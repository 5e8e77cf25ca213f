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

// Encoded is a body that is already JSON.
type Encoded []byte

// Encode returns a body as JSON.
func Encode(body any) ([]byte, error) {
	if text, done := body.(Encoded); done {
		return text, nil
	}
	return javascript.Stringify(body)
}

// WriteJSON sends a response.
func WriteJSON(ctx context.Context, w http.ResponseWriter, status int, body any) {
	encoded, err := Encode(body)
	if err != nil {
		telemetry.Log(ctx).Error().Err(err).Msg("response does not encode as JSON")
		status, encoded = http.StatusInternalServerError, InternalErrorBody()
	}
	WriteRaw(w, status, JSONType, encoded)
}

// Compressor is a writer whose client may accept compressed responses.
type Compressor interface {
	// Compress returns a body in an encoding that the client accepts, and sets the header.
	Compress(header http.Header, body []byte) []byte
}

// WriteRaw sends a response and its length, compressed if the client accepts that. HEAD requests get the length too.
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
	// the handler cannot react to a client that disconnected
	_, _ = w.Write(body)
}

// NotFound responds to every request that matches no route.
func NotFound(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	WriteJSON(r.Context(), w, http.StatusNotFound, struct {
		Message    string `json:"message"`
		Error      string `json:"error"`
		StatusCode int    `json:"statusCode"`
	}{"Route " + method + ":" + r.RequestURI + " not found", "Not Found", http.StatusNotFound})
}

// InternalErrorBody is the body of a failure without a reason for the client.
func InternalErrorBody() []byte {
	return []byte(`{"status":"error","code":"internal_error","message":"internal server error"}`)
}

// TextOrNull returns a text, null for "".
func TextOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
