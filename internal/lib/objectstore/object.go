package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Open opens an object, which the caller closes. ErrNotFound.
func (s *Store) Open(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	header, err := s.do(ctx, http.MethodHead, name, nil, nil, nil)
	if status(err) == http.StatusNotFound {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read object %s: %w", name, err)
	}
	size, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read object %s: it has no length: %w", name, err)
	}
	return &object{ctx: ctx, store: s, name: name, size: size}, nil
}

// object reads from its seek position: the first read makes the request.
type object struct {
	ctx      context.Context //nolint:containedctx // that of Open: an io.Reader takes none
	store    *Store
	name     string
	size, at int64
	body     io.ReadCloser
}

// Read implements io.Reader.
func (o *object) Read(into []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.body == nil {
		from := http.Header{"Range": {fmt.Sprintf("bytes=%d-", o.at)}}
		answer, err := o.store.request(o.ctx, http.MethodGet, o.name, nil, from, nil) //nolint:bodyclose // Close does
		if err != nil {
			return 0, fmt.Errorf("read object %s: %w", o.name, err)
		}
		if o.body = answer.Body; o.at > 0 && answer.StatusCode != http.StatusPartialContent {
			return 0, fmt.Errorf("read object %s: the object store has no ranges", o.name)
		}
	}
	n, err := o.body.Read(into)
	o.at += int64(n)
	if errors.Is(err, io.EOF) && o.at < o.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements io.Seeker.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, errors.New("negative position in an object")
	}
	if offset == o.at {
		return offset, nil
	}
	o.at = offset
	return offset, o.Close()
}

// Close implements io.Closer.
func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	body := o.body
	o.body = nil
	return body.Close()
}
