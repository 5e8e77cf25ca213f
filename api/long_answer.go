package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"harness/api/rest"
	"harness/internal/lib/spool"
	"harness/internal/platform/telemetry"
)

// longAnswer is a body in parts, for one reader or several.
type longAnswer struct {
	parts  []part
	spool  *spool.Spool
	size   int64
	zipped bool
	// name is that by which others join, "" for none; LongAnswers.mu guards readers.
	name    string
	readers int
}

// part is a text, or else a stretch of what is kept.
type part struct {
	text     []byte
	from, to int64
}

// kept is where stretches are: a spool, or memory.
type kept interface {
	io.Writer
	Size() int64
	CopyTo(w io.Writer, from, to int64) error
}

// memory is a kept that takes no more than longestInMemory.
type memory struct{ text []byte }

// errLong says that an answer is longer than may be in memory.
var errLong = errors.New("the answer is long")

// Write implements io.Writer.
func (m *memory) Write(p []byte) (int, error) {
	if len(m.text)+len(p) > longestInMemory {
		return 0, errLong
	}
	m.text = append(m.text, p...)
	return len(p), nil
}

// Size is how much was written.
func (m *memory) Size() int64 { return int64(len(m.text)) }

// CopyTo writes a stretch of what was written.
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

// inMemory is a short answer as one text.
func inMemory(parts []part, from kept) (rest.Encoded, error) {
	whole := bytes.NewBuffer(make([]byte, 0, sizeOfParts(parts)))
	err := writeParts(whole, parts, from)
	return whole.Bytes(), err
}

// finish makes the answer of parts, compressed if the request wants that. The spool is the answer's then.
func (s *server) finish(wanted coding, parts []part, from *spool.Spool) (*longAnswer, error) {
	answer := &longAnswer{parts: parts, spool: from, size: sizeOfParts(parts), readers: 1}
	if wanted.coder == nil {
		if err := from.Seal(); err != nil {
			from.Close()
			return nil, notKept(err)
		}
		return answer, nil
	}
	defer from.Close()
	zipped := s.Long.folder.New()
	packed := s.coder.writer(zipped)
	defer s.coder.writers.Put(packed)
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
	return &longAnswer{parts: []part{{to: zipped.Size()}}, spool: zipped, size: zipped.Size(), zipped: true, readers: 1}, nil
}

// send sends the answer. One that breaks off ends its connection, so that nobody takes it for whole.
func (a *longAnswer) send(ctx context.Context, w http.ResponseWriter, status int) {
	header := w.Header()
	header.Set("Content-Type", rest.JSONType)
	header.Add("Vary", "Accept-Encoding")
	if a.zipped {
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Length", strconv.FormatInt(a.size, 10))
	w.WriteHeader(status)
	err := writeParts(w, a.parts, a.spool)
	if err == nil || errors.Is(err, http.ErrBodyNotAllowed) { // HEAD is told the length alone
		return
	}
	telemetry.Log(ctx).Debug().Err(err).Msg("a long answer broke off")
	panic(http.ErrAbortHandler)
}

// release gives up what a reply keeps. It may have been sent.
func (s *server) release(reply rest.Reply) {
	if long, is := reply.Body.(*longAnswer); is {
		s.Long.leave(long)
	}
}
