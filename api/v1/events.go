package v1

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/platform/auth"
	"harness/internal/services/tasks"
)

// pageSize is the default number of events in a page, and maxPage is the maximum. maxSeq is the highest number that a
// client may send, which is exact in JavaScript.
const (
	pageSize = 500
	maxPage  = 5000
	maxSeq   = 1 << 53
)

// events returns a page of events, or a stream of all stored and new events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	after, err := afterOf(r)
	if err != nil {
		return err
	}
	reader, err := s.opts.Tasks.Reader(r.Context(), sessionOf(r), after)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("stream") == "1" || strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return s.stream(w, r, reader, after)
	}
	limit, err := count(r, "limit", pageSize, 1, maxPage)
	if err != nil {
		return err
	}
	found, err := reader.Next(r.Context(), int(limit))
	if err != nil {
		return err
	}
	page := struct {
		Events  []tasks.Event `json:"events"`
		NextSeq int64         `json:"next_seq"`
		// Oldest is present when older events are no longer stored.
		Oldest int64 `json:"oldest_seq,omitempty"`
	}{append([]tasks.Event{}, found...), after, 0}
	if len(found) > 0 {
		page.NextSeq = found[len(found)-1].Seq
	}
	if reader.Oldest > after+1 {
		page.Oldest = reader.Oldest
	}
	return reply(w, http.StatusOK, page)
}

// afterOf returns the number after which the client requests events. It comes from the query, otherwise from a
// stream's Last-Event-ID.
func afterOf(r *http.Request) (int64, error) {
	for _, name := range []string{"after_seq", "from_seq"} {
		if r.URL.Query().Has(name) {
			return count(r, name, 0, 0, maxSeq)
		}
	}
	given := r.Header.Get("Last-Event-ID")
	if given == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(given, 10, 64)
	if err != nil || after < 0 || after > maxSeq {
		return 0, invalid("Last-Event-ID is the id of an event of this session")
	}
	return after, nil
}

// stream sends events as they happen. It ends when the client disconnects or falls too far behind, the session is
// deleted, or the server stops.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reader *tasks.Reader, after int64) error {
	if !s.join() {
		return &refusal{http.StatusTooManyRequests, "sse_limit",
			fmt.Sprintf("this server has %d streams, which is its limit", s.opts.MaxStreams), nil}
	}
	defer s.part()
	session := sessionOf(r)
	news, cancel := s.opts.Tasks.News(session)
	defer cancel()
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	out := &sse{w: w, control: http.NewResponseController(w), timeout: s.opts.WriteTimeout, last: after}
	w.WriteHeader(http.StatusOK)
	out.event("ready", map[string]any{"session_id": session, "after_seq": after})
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for live := false; out.err == nil && !s.closed(); {
		sent, ended := s.sendNext(r, reader, out, live)
		if ended {
			return nil
		}
		if sent {
			continue
		}
		live = true
		select {
		case <-news:
		case <-beat.C:
			out.write([]byte(":heartbeat\n\n"))
			out.flush()
		case <-r.Context().Done():
			return nil
		case <-auth.AccessFrom(r.Context()).Done():
			out.event("error", map[string]any{"error": "unauthorized", "message": "access was withdrawn", "last_seq": out.last})
			return nil
		case <-s.closing:
			return nil
		}
	}
	return nil
}

// sendNext sends the next events of a stream, if any, or ends the stream.
func (s *Server) sendNext(r *http.Request, reader *tasks.Reader, out *sse, live bool) (sent, ended bool) {
	// A replay runs at the reader's pace. A reader that was up to date and falls far behind must reconnect.
	if live {
		behind, err := reader.Behind(r.Context())
		if err == nil && behind > s.opts.Behind {
			s.overflow(out)
			return false, true
		}
	}
	// An operator may have moved the session out of the reader's projects.
	err := s.opts.Operations.CheckSession(r.Context(), sessionOf(r))
	var found []tasks.Event
	if err == nil {
		found, err = s.next(r.Context(), reader)
	}
	if err != nil {
		out.fail(err, r)
		return false, true
	}
	if reader.Oldest > out.last+1 {
		out.event("gap", map[string]any{"from_seq": out.last + 1, "to_seq": reader.Oldest - 1})
		out.last = reader.Oldest - 1
	}
	for i := 0; i < len(found) && !out.slow; i++ {
		out.send(&found[i])
	}
	if out.slow {
		s.overflow(out)
		return false, true
	}
	if len(found) > 0 {
		out.flush()
	}
	return len(found) > 0, false
}

// overflow ends a stream whose reader fell behind.
func (s *Server) overflow(out *sse) {
	if s.opts.Overflowed != nil {
		s.opts.Overflowed()
	}
	out.event("overflow", map[string]any{"last_seq": out.last})
}

// closed reports whether the server is stopping. A stopping server does not wait for a long replay.
func (s *Server) closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

func (s *Server) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.MaxStreams > 0 && s.streams >= s.opts.MaxStreams {
		return false
	}
	s.streams++
	return true
}

func (s *Server) part() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
}

// sse writes a stream; err is the error of the first failed write.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	last    int64 // number of the last event
	err     error
	// slow reports that the client read nothing until the timeout.
	slow bool
}

// lingers is how many timeouts the server waits for a client that reads nothing. The client can still read the sent
// events and the end of the stream (overflow). Then the server disconnects it.
const lingers = 5

func (o *sse) write(text []byte) {
	o.patiently(func() error {
		_, err := o.w.Write(text)
		return err
	})
}

func (o *sse) flush() { o.patiently(o.control.Flush) }

// patiently runs a function that waits for the client.
func (o *sse) patiently(do func() error) {
	if o.err != nil {
		return
	}
	began := time.Now()
	// Without write deadlines, a connection waits as long as its client does.
	_ = o.control.SetWriteDeadline(began.Add(lingers * o.timeout))
	o.err = do()
	o.slow = o.slow || time.Since(began) > o.timeout
}

// event sends an event about the stream itself.
func (o *sse) event(name string, data any) {
	o.write([]byte("event: " + name + "\ndata: " + string(javascript.MustEncode(data)) + "\n\n"))
	o.flush()
}

// send sends an event of the session.
func (o *sse) send(e *tasks.Event) {
	var frame bytes.Buffer
	fmt.Fprintf(&frame, "id: %d\ndata: %s\n\n", e.Seq, javascript.MustEncode(e))
	o.write(frame.Bytes())
	o.last = e.Seq
}

// fail sends the reason why the stream ends.
func (o *sse) fail(err error, r *http.Request) {
	if r.Context().Err() == nil {
		answer := refusalOf(err, r)
		o.event("error", map[string]any{"error": answer.code, "message": answer.message, "last_seq": o.last})
	}
}
