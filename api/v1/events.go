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

// pageSize is how many events a page has when no limit is given, maxPage how many it may have; maxSeq is the highest
// number that a client may name, which JavaScript still counts exactly.
const (
	pageSize = 500
	maxPage  = 5000
	maxSeq   = 1 << 53
)

// events answers with a page, or with a stream of all there are and will be.
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
		// Oldest is there when older events are not kept any more.
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

// afterOf is the number after which events are wanted: of the query, else of the last event a stream's client had.
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

// stream sends events as they happen, until the client leaves, the session is deleted, the server stops, or the client
// falls too far behind.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reader *tasks.Reader, after int64) error {
	if !s.join() {
		return &refusal{http.StatusTooManyRequests, "sse_limit",
			fmt.Sprintf("there are %d streams, as many as there may be", s.opts.MaxStreams), nil}
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
	overflow := func() {
		if s.opts.Overflowed != nil {
			s.opts.Overflowed()
		}
		out.event("overflow", map[string]any{"last_seq": out.last})
	}
	w.WriteHeader(http.StatusOK)
	out.event("ready", map[string]any{"session_id": session, "after_seq": after})
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for live := false; out.err == nil && !s.closed(); {
		// Replay goes at the reader's pace. Who was up to date and falls far behind is better told to come again.
		if live {
			behind, err := reader.Behind(r.Context())
			if err == nil && behind > s.opts.Behind {
				overflow()
				return nil
			}
		}
		// The session may have been moved out of the projects its reader is limited to.
		err := s.opts.Operations.CheckSession(r.Context(), session)
		var found []tasks.Event
		if err == nil {
			found, err = s.next(r.Context(), reader)
		}
		if err != nil {
			out.fail(err, r)
			return nil
		}
		if reader.Oldest > out.last+1 {
			out.event("gap", map[string]any{"from_seq": out.last + 1, "to_seq": reader.Oldest - 1})
			out.last = reader.Oldest - 1
		}
		for i := 0; i < len(found) && !out.slow; i++ {
			out.tell(&found[i])
		}
		if out.slow {
			overflow()
			return nil
		}
		if len(found) > 0 {
			out.flush()
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

// closed tells whether the server stops: a long replay is no reason to wait.
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

// sse writes a stream; err is what the first failed write said.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	last    int64 // number of the last event
	err     error
	// slow says that the client took nothing for the timeout.
	slow bool
}

// lingers is for how many timeouts a client that takes nothing is waited for. It reads what was on its way and that the
// stream ended (overflow); after that the connection is cut.
const lingers = 5

func (o *sse) write(text []byte) {
	o.patiently(func() error {
		_, err := o.w.Write(text)
		return err
	})
}

func (o *sse) flush() { o.patiently(o.control.Flush) }

// patiently does something that waits for the client.
func (o *sse) patiently(do func() error) {
	if o.err != nil {
		return
	}
	began := time.Now()
	// A connection whose writes have no deadlines waits as long as its client does.
	_ = o.control.SetWriteDeadline(began.Add(lingers * o.timeout))
	o.err = do()
	o.slow = o.slow || time.Since(began) > o.timeout
}

// event is one about the stream itself.
func (o *sse) event(name string, data any) {
	o.write([]byte("event: " + name + "\ndata: " + string(javascript.MustEncode(data)) + "\n\n"))
	o.flush()
}

// tell is one of the session.
func (o *sse) tell(e *tasks.Event) {
	var frame bytes.Buffer
	fmt.Fprintf(&frame, "id: %d\ndata: %s\n\n", e.Seq, javascript.MustEncode(e))
	o.write(frame.Bytes())
	o.last = e.Seq
}

// fail says why the stream ends.
func (o *sse) fail(err error, r *http.Request) {
	if r.Context().Err() == nil {
		told := refusalOf(err, r)
		o.event("error", map[string]any{"error": told.code, "message": told.message, "last_seq": o.last})
	}
}
