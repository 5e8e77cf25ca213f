package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"harness/api/schema"
)

// maxBody is the largest request body in bytes.
const maxBody = 1 << 20

// requestError is a request that could not even be read; the status is the HTTP one.
type requestError struct {
	status  int
	message string
}

func (e *requestError) Error() string { return e.message }

// readBody decodes the body by its content type, before anything else is looked at. Undefined means that there is none, which is only so
// when there is no content type either (`codex-manager.md` 5.1).
func readBody(r *http.Request) (schema.Value, error) {
	contentType := r.Header.Get("Content-Type")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return schema.Value{}, nil
	case http.MethodDelete:
		// Bodies of DELETE are read only when the client calls them something.
		if contentType == "" {
			return schema.Value{}, nil
		}
	}
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/json":
		data, err := readAll(r)
		if err != nil {
			return schema.Value{}, err
		}
		if len(data) == 0 {
			return schema.Value{}, &requestError{http.StatusBadRequest, "Body cannot be empty when content-type is set to 'application/json'"}
		}
		value, err := schema.Parse(data)
		if err != nil {
			return schema.Value{}, &requestError{http.StatusBadRequest, "Body is not valid JSON but content-type is set to 'application/json'"}
		}
		return value, nil
	case "text/plain":
		data, err := readAll(r)
		if err != nil {
			return schema.Value{}, err
		}
		return schema.StringValue(strings.ToValidUTF8(string(data), "\ufffd")), nil
	case "":
		if r.ContentLength == 0 {
			return schema.Value{}, nil
		}
		contentType = "undefined"
	}
	return schema.Value{}, &requestError{http.StatusUnsupportedMediaType, "Unsupported Media Type: " + contentType}
}

func readAll(r *http.Request) ([]byte, error) {
	tooLarge := &requestError{http.StatusRequestEntityTooLarge, "Request body is too large"}
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	size := r.ContentLength
	if size < 0 {
		size = 512
	}
	data := make([]byte, 0, size+1)
	limited := io.LimitReader(r.Body, maxBody+1)
	for {
		n, err := limited.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, &requestError{http.StatusRequestTimeout, "Request body did not arrive in time"}
		}
		if err != nil {
			return nil, &requestError{http.StatusBadRequest, "Request body could not be read"}
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	if len(data) > maxBody {
		return nil, tooLarge
	}
	return data, nil
}
