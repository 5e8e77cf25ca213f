package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"unsafe"

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

// readBody decodes the body by its content type, before anything else is looked at. Undefined means that there is none,
// which is only so when there is no content type either. sent is the body as it came.
func (s *server) readBody(r *http.Request) (body schema.Value, sent string, err error) {
	contentType := r.Header.Get("Content-Type")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return schema.Value{}, "", nil
	case http.MethodDelete:
		// Bodies of DELETE are read only when the client calls them something.
		if contentType == "" {
			return schema.Value{}, "", nil
		}
	}
	mediaType, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/json":
		data, err := s.bodies.read(r)
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
		data, err := s.bodies.read(r)
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

// bodies reads bodies, those of unknown length into buffers that are used again. Its zero value is ready.
type bodies struct{ buffers sync.Pool }

// largestKept is the size in bytes of the largest buffer that is kept.
const largestKept = 64 << 10

func (b *bodies) read(r *http.Request) (string, error) { return b.upTo(r, maxBody) }

// upTo reads a body of at most so many bytes.
func (b *bodies) upTo(r *http.Request, most int64) (string, error) {
	tooLarge := &requestError{http.StatusRequestEntityTooLarge, "Request body is too large"}
	if r.ContentLength > most {
		return "", tooLarge
	}
	if r.ContentLength > 0 {
		data := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, data)
		return unsafe.String(unsafe.SliceData(data), len(data)), unread(err) // no copy: nobody changes it
	}
	buffer, kept := b.buffers.Get().(*bytes.Buffer)
	if !kept {
		buffer = new(bytes.Buffer)
	}
	defer func() {
		if buffer.Cap() <= largestKept {
			buffer.Reset()
			b.buffers.Put(buffer)
		}
	}()
	_, err := buffer.ReadFrom(io.LimitReader(r.Body, most+1))
	if err == nil && int64(buffer.Len()) > most {
		return "", tooLarge
	}
	return buffer.String(), unread(err)
}

// unread words what kept a body from being read.
func unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &requestError{http.StatusRequestTimeout, "Request body did not arrive in time"}
	}
	return &requestError{http.StatusBadRequest, "Request body could not be read"}
}

// acceptable says with a 415 what to send; the body is the original's.
func acceptable(w http.ResponseWriter, status int) {
	if status == http.StatusUnsupportedMediaType {
		w.Header().Set("Accept", "application/json")
	}
}

func internalErrorBody() []byte {
	return []byte(`{"status":"error","code":"internal_error","message":"internal server error"}`)
}
