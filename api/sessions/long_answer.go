package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"harness/api/compress"
	"harness/api/rest"
	"harness/internal/lib/spool"
	"harness/internal/platform/telemetry"
)

// LongAnswer is a body in parts, for one or several readers.
type LongAnswer struct {
	parts  []part
	spool  *spool.Spool
	size   int64
	zipped bool
	// name identifies a shared answer, "" for an unshared one. LongAnswers.mu guards readers.
	name    string
	readers int
}

// part is a text or a range of a kept.
type part struct {
	text     []byte
	from, to int64
}

// kept stores ranges in a spool or in memory.
type kept interface {
	io.Writer
	Size() int64
	CopyTo(w io.Writer, from, to int64) error
}

// memory is a kept of at most longestInMemory bytes.
type memory struct{ text []byte }

// errLong reports that an answer is too long for memory.
var errLong = errors.New("the answer is too long for memory")

// Write implements io.Writer.
func (m *memory) Write(p []byte) (int, error) {
	if len(m.text)+len(p) > longestInMemory {
		return 0, errLong
	}
	m.text = append(m.text, p...)
	return len(p), nil
}

// Size returns the number of bytes written.
func (m *memory) Size() int64 { return int64(len(m.text)) }

// CopyTo copies a range of the written bytes to w.
func (m *memory) CopyTo(w io.Writer, from, to int64) error {
	_, err := w.Write(m.text[from:to])
	return err
}

// writeParts writes a body.
func writeParts(w io.Writer, parts []part, from kept) error {
	for _, p := range parts {
		if p.text != nil {
			if _, err := w.Write(p.text); err != nil {
				return err
			}
			continue
		}
		if err := from.CopyTo(w, p.from, p.to); err != nil {
			return err
		}
	}
	return nil
}

func sizeOfParts(parts []part) (size int64) {
	for _, p := range parts {
		size += int64(len(p.text)) + p.to - p.from
	}
	return size
}

// inMemory returns a short answer as one text.
func inMemory(parts []part, from kept) (rest.Encoded, error) {
	whole := bytes.NewBuffer(make([]byte, 0, sizeOfParts(parts)))
	err := writeParts(whole, parts, from)
	return whole.Bytes(), err
}

// finish builds the answer from parts, compressed if the request accepts that. The answer then owns the spool.
func (s *sessions) finish(wanted compress.Coding, parts []part, from *spool.Spool) (*LongAnswer, error) {
	answer := &LongAnswer{parts: parts, spool: from, size: sizeOfParts(parts), readers: 1}
	if wanted.Coder == nil {
		if err := from.Seal(); err != nil {
			from.Close()
			return nil, notKept(err)
		}
		return answer, nil
	}
	defer from.Close()
	zipped := s.long.folder.New()
	packed := s.coder.Writer(zipped)
	defer s.coder.Free(packed)
	err := from.Seal()
	if err == nil {
		err = writeParts(packed, parts, from)
	}
	if err == nil {
		err = packed.Close()
	}
	if err == nil {
		err = zipped.Seal()
	}
	if err != nil {
		zipped.Close()
		return nil, notKept(err)
	}
	return &LongAnswer{parts: []part{{to: zipped.Size()}}, spool: zipped, size: zipped.Size(), zipped: true, readers: 1}, nil
}

// Send sends the answer. If sending fails, it closes the connection, so that no client takes the answer for complete.
func (a *LongAnswer) Send(ctx context.Context, w http.ResponseWriter, status int) {
	header := w.Header()
	header.Set("Content-Type", rest.JSONType)
	header.Add("Vary", "Accept-Encoding")
	if a.zipped {
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Length", strconv.FormatInt(a.size, 10))
	w.WriteHeader(status)
	err := writeParts(w, a.parts, a.spool)
	if err == nil || errors.Is(err, http.ErrBodyNotAllowed) { // HEAD gets only the length
		return
	}
	telemetry.Log(ctx).Debug().Err(err).Msg("a long response ended early")
	panic(http.ErrAbortHandler)
}

// Release frees the resources of a reply, whether or not it was sent.
func (l *LongAnswers) Release(reply rest.Reply) {
	if long, is := reply.Body.(*LongAnswer); is {
		l.leave(long)
	}
}
