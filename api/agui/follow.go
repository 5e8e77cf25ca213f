package agui

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"harness/api/rest"
	"harness/api/sse"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
	"harness/stream"
)

// pageRecords is the number of records per read.
const pageRecords = 256

// lastIndex is the highest index of an event among those of a record.
const lastIndex = 15

// positionOf returns the id of an event of a record. It is a cursor of /api/stream, too.
func positionOf(record *journal.Record, index int) int64 {
	return stream.FramePosition(*record, min(index, lastIndex))
}

// follower serves the records of a session from a number on.
type follower struct {
	Options
	session string
	seq     int64 // the number of the last record that was read
	after   int64 // events up to this position are known to the client
	until   string
	// history sends the conversation with the first run.
	history bool
	// own runs leave out the message that began them, which their client sent. known: the client has that message of
	// the present run.
	own, known bool
	raw        bool
	runs       translator
}

// seek goes back to the start of the newest turn that is accepted, because events depend on earlier ones of their turn.
// Without such a turn it goes to the end.
func (f *follower) seek(ctx context.Context, accepted func(*journal.Record) bool) (found bool, err error) {
	newest, err := f.Journal.Newest(ctx, f.session)
	if err != nil {
		return false, err
	}
	for before := newest; before > 0; before -= pageRecords {
		from := max(before-pageRecords, 0)
		records, err := f.Journal.ReadSession(ctx, f.session, from, int(before-from))
		if err != nil {
			return false, err
		}
		for i := len(records) - 1; i >= 0; i-- {
			if begins(&records[i]) && accepted(&records[i]) {
				f.seq = records[i].Seq - 1
				return true, nil
			}
		}
		if len(records) == 0 || records[0].Seq > from+1 {
			break // earlier ones are pruned
		}
	}
	f.seq = newest
	return false, nil
}

// serve sends the events until the run ends, the client disconnects or loses access, or the server stops.
func (f *follower) serve(w http.ResponseWriter, r *http.Request) error {
	if !f.Streams.Join() {
		w.Header().Set("Retry-After", "1")
		refused := rest.Problem(http.StatusTooManyRequests, "sse_limit", "too many open streams: close one or retry later")
		rest.WriteJSON(r.Context(), w, refused.Status, refused.Body)
		return nil
	}
	defer f.Streams.Leave()
	news, cancel := f.News(f.session)
	defer cancel()
	out := sse.Begin(w, f.WriteTimeout)
	out.Flush()
	beat := time.NewTicker(f.Heartbeat)
	defer beat.Stop()
	for !f.over(out) {
		more, err := f.send(r.Context(), out)
		if err != nil {
			if r.Context().Err() == nil {
				telemetry.Log(r.Context()).Warn().Err(err).Str("session", f.session).Msg("a stream of runs ended early")
			}
			return nil // the answer has begun; the client resumes
		}
		out.Flush()
		if more || f.over(out) {
			continue
		}
		select {
		case <-news:
		case <-beat.C:
			out.Beat()
		case <-r.Context().Done():
			return nil
		case <-auth.AccessFrom(r.Context()).Done():
			return nil
		case <-f.Closing:
			return nil
		}
	}
	return nil
}

// over reports whether the run has ended, or its client reads no more.
func (f *follower) over(out *sse.Writer) bool {
	return out.Err != nil || out.Slow || f.until != "" && f.runs.ended == f.until
}

// send sends the events of the next records, if any.
func (f *follower) send(ctx context.Context, out *sse.Writer) (more bool, err error) {
	// An operator may have moved the session out of the reader's projects.
	if err := f.Operations.CheckSession(ctx, f.session); err != nil {
		return false, err
	}
	records, err := f.Journal.ReadSession(ctx, f.session, f.seq, pageRecords)
	if err != nil {
		return false, err
	}
	for i := range records {
		record := &records[i]
		f.seq = record.Seq
		if record.Type == session.EventDeleted {
			return false, &session.DeletedError{SessionID: f.session, DeletedAt: record.Time}
		}
		if f.until != "" && f.runs.turn == "" && begins(record) && record.TurnID != f.until {
			continue // another turn ran before
		}
		if err := f.sendRecord(ctx, out, record); err != nil {
			return false, err
		}
		if f.over(out) {
			return false, nil
		}
	}
	return len(records) > 0, nil
}

func (f *follower) sendRecord(ctx context.Context, out *sse.Writer, record *journal.Record) error {
	events := f.runs.translate(record, f.raw)
	for i, one := range events {
		position, begins := positionOf(record, i), one.kind == runStarted
		switch {
		case position <= f.after:
			f.known = f.known || begins // a client with a cursor in a run has what began it
			continue
		case one.begun && f.known:
			continue
		case begins && f.history:
			// Without an id until the conversation is sent: a client that lost it begins anew.
			f.history = false
			out.Data("", one.encode())
			conversation, err := f.conversation(ctx, record.TurnID)
			if err != nil {
				return err
			}
			out.Data("", conversation)
			continue
		case begins:
			f.known = f.own
		}
		id := ""
		if i < lastIndex || i == len(events)-1 {
			id = strconv.FormatInt(position, 10)
		}
		out.Data(id, one.encode())
	}
	return nil
}

// message is a message of AG-UI.
type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation returns the messages of a session before a turn, and the message that began it. Further messages of the
// session come as events.
func (f *follower) conversation(ctx context.Context, turnID string) ([]byte, error) {
	read, _, err := f.Operations.Read(ctx, f.session, operations.Reading{Limit: operations.MaxWindow, OmitDetails: true})
	if err != nil {
		return nil, err
	}
	all := []message{}
	for i := range read.Transcript {
		entry := &read.Transcript[i]
		switch {
		case entry.TurnID == turnID && (entry.Role != roleUser || f.known), entry.Role != roleUser && entry.Role != roleAssistant:
			continue
		case entry.TurnID == turnID:
			f.known = true
		}
		all = append(all, message{entry.MessageID, entry.Role, entry.Whole().Content})
	}
	return javascript.MustEncode(struct {
		Type     string    `json:"type"`
		Messages []message `json:"messages"`
	}{"MESSAGES_SNAPSHOT", all}), nil
}
