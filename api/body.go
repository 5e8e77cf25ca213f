package api

import (
	"errors"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/api/schema"
)

// requestError is a request that could not be read. status is the HTTP status.
type requestError struct {
	status  int
	message string
}

func (e *requestError) Error() string { return e.message }

// readBody decodes the body by its content type, before any other check. Undefined means no body, which also requires
// that the request has no content type. sent is the raw body.
func (s *server) readBody(r *http.Request) (body schema.Value, sent string, err error) {
	contentType := r.Header.Get("Content-Type")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return schema.Value{}, "", nil
	case http.MethodDelete:
		// Bodies of DELETE are read only with a content type.
		if contentType == "" {
			return schema.Value{}, "", nil
		}
	}
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/json":
		data, err := s.readText(r, rest.MaxBody)
		if err != nil {
			return schema.Value{}, "", err
		}
		if len(data) == 0 {
			return schema.Value{}, "", &requestError{http.StatusBadRequest,
				"Body cannot be empty when content-type is set to 'application/json'"}
		}
		value, err := schema.Parse(data)
		if err != nil {
			return schema.Value{}, "", &requestError{http.StatusBadRequest,
				"Body is not valid JSON but content-type is set to 'application/json'"}
		}
		return value, data, nil
	case "text/plain":
		data, err := s.readText(r, rest.MaxBody)
		if err != nil {
			return schema.Value{}, "", err
		}
		return schema.StringValue(strings.ToValidUTF8(data, "\ufffd")), data, nil
	case "":
		if r.ContentLength == 0 {
			return schema.Value{}, "", nil
		}
		contentType = "undefined"
	}
	return schema.Value{}, "", &requestError{http.StatusUnsupportedMediaType, "Unsupported Media Type: " + contentType}
}

// readText reads a body of limited size.
func (s *server) readText(r *http.Request, most int64) (string, error) {
	text, err := s.bodies.Read(r, most)
	switch {
	case errors.Is(err, rest.ErrBodyTooLarge):
		err = &requestError{http.StatusRequestEntityTooLarge, "Request body is too large"}
	case errors.Is(err, rest.ErrBodyLate):
		err = &requestError{http.StatusRequestTimeout, "Request body did not arrive in time"}
	case err != nil:
		err = &requestError{http.StatusBadRequest, "Request body could not be read"}
	}
	return text, err
}

// acceptable lists the accepted types in a 415, with codex-manager's body.
func acceptable(w http.ResponseWriter, status int) {
	if status == http.StatusUnsupportedMediaType {
		w.Header().Set("Accept", "application/json")
	}
}
