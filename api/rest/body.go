package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"unsafe"
)

// MaxBody is the default maximum of a request body, in bytes.
const MaxBody = 1 << 20

// The reasons why a body cannot be read. Each protocol has separate messages for them.
var (
	ErrBodyTooLarge   = errors.New("the body is too large")
	ErrBodyLate       = errors.New("the body did not arrive in time")
	ErrBodyUnreadable = errors.New("cannot read the request body")
)

// Bodies reads bodies. It uses pooled buffers for bodies of unknown length. Its zero value is ready.
type Bodies struct{ buffers sync.Pool }

// largestKept is the maximum size in bytes of a pooled buffer.
const largestKept = 64 << 10

// Read reads a body of limited size: ErrBodyTooLarge, ErrBodyLate, ErrBodyUnreadable.
func (b *Bodies) Read(r *http.Request, most int64) (string, error) {
	if r.ContentLength > most {
		return "", ErrBodyTooLarge
	}
	if r.ContentLength > 0 {
		data := make([]byte, r.ContentLength)
		_, err := io.ReadFull(r.Body, data)
		return unsafe.String(unsafe.SliceData(data), len(data)), unread(err) // no copy: no code changes it
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
		return "", ErrBodyTooLarge
	}
	return buffer.String(), unread(err)
}

func unread(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrBodyLate
	}
	return ErrBodyUnreadable
}
