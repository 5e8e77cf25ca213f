package v1

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"harness/api/sse"
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
	if !s.streams.Join() {
		return &refusal{http.StatusTooManyRequests, "sse_limit",
			fmt.Sprintf("this server has %d streams, which is its limit", s.opts.MaxStreams), nil}
	}
	defer s.streams.Leave()
	session := sessionOf(r)
	news, cancel := s.opts.Tasks.News(session)
	defer cancel()
	out := &taskStream{sse.Begin(w, s.opts.WriteTimeout), after}
	out.Event("ready", map[string]any{"session_id": session, "after_seq": after})
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for live := false; out.Err == nil && !s.closed(); {
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
			out.Beat()
		case <-r.Context().Done():
			return nil
		case <-auth.AccessFrom(r.Context()).Done():
			out.Event("error", map[string]any{"error": "unauthorized", "message": "access was withdrawn", "last_seq": out.last})
			return nil
		case <-s.closing:
			return nil
		}
	}
	return nil
}

// sendNext sends the next events of a stream, if any, or ends the stream.
func (s *Server) sendNext(r *http.Request, reader *tasks.Reader, out *taskStream, live bool) (sent, ended bool) {
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
		out.Event("gap", map[string]any{"from_seq": out.last + 1, "to_seq": reader.Oldest - 1})
		out.last = reader.Oldest - 1
	}
	for i := 0; i < len(found) && !out.Slow; i++ {
		out.send(&found[i])
	}
	if out.Slow {
		s.overflow(out)
		return false, true
	}
	if len(found) > 0 {
		out.Flush()
	}
	return len(found) > 0, false
}

// overflow ends a stream whose reader fell behind.
func (s *Server) overflow(out *taskStream) {
	if s.opts.Overflowed != nil {
		s.opts.Overflowed()
	}
	out.Event("overflow", map[string]any{"last_seq": out.last})
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

// taskStream is the stream of a session's events.
type taskStream struct {
	*sse.Writer
	last int64 // number of the last event
}

// send sends an event of the session.
func (o *taskStream) send(e *tasks.Event) {
	o.Data(strconv.FormatInt(e.Seq, 10), javascript.MustEncode(e))
	o.last = e.Seq
}

// fail sends the reason why the stream ends.
func (o *taskStream) fail(err error, r *http.Request) {
	if r.Context().Err() == nil {
		answer := refusalOf(err, r)
		o.Event("error", map[string]any{"error": answer.code, "message": answer.message, "last_seq": o.last})
	}
}
