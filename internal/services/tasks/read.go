package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// readRecords is the number of records per read.
const readRecords = 256

// Reader reads the events of a session after a number, and later those that follow.
type Reader struct {
	s     *Service
	log   *Log
	after int64
	// left are derived events that Next has not returned yet.
	left []Event
	// Oldest is the number of the oldest stored event read so far, usually 1.
	Oldest int64
}

// Reader returns a Reader that starts after a number. Errors are those of operations.Check.
func (s *Service) Reader(ctx context.Context, sessionID string, after int64) (*Reader, error) {
	about, err := s.About(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	r := &Reader{s: s, after: after, Oldest: 1, log: NewLog(about)}
	r.log.Redact = s.opts.Redact
	m, found, err := readMark(ctx, s.db.Read(), sessionID, `seq <= $2 order by seq desc limit 1`, after)
	if err == nil && found {
		err = r.from(m)
	}
	return r, err
}

// from continues from a marker.
func (r *Reader) from(m mark) error {
	var at state
	if err := json.Unmarshal([]byte(m.state), &at); err != nil {
		return fmt.Errorf("read a mark of session %s: %w", r.log.about.SessionID, err)
	}
	if at.Facts.RuntimeSessionID == "" { // the marker is of an earlier version
		at.Facts = r.log.about.Begin
	}
	r.log.state = at
	return nil
}

// Next returns the next events, at most limit; none if there are no more for now. *session.DeletedError if the session
// was deleted.
func (r *Reader) Next(ctx context.Context, limit int) ([]Event, error) {
	for len(r.left) < limit {
		r.keep(r.log.Begin())
		records, err := r.s.journal.ReadSession(ctx, database.EncodeText(r.log.about.SessionID), r.log.Journal(), readRecords)
		if err != nil {
			return nil, err
		}
		if len(records) == 0 {
			break
		}
		if err := r.skip(ctx, records[0].Seq); err != nil {
			return nil, err
		}
		for i := range records {
			if records[i].Type == sessionDeleted {
				return nil, &session.DeletedError{SessionID: r.log.about.SessionID, DeletedAt: records[i].Time}
			}
			if records[i].Seq > r.log.Journal() {
				events := r.log.Take(&records[i])
				r.s.keepLong(ctx, r.log.long)
				r.keep(events)
			}
		}
	}
	out := r.left[:min(limit, len(r.left))]
	r.left = r.left[len(out):]
	return out, nil
}

// keep adds events that are new to the reader.
func (r *Reader) keep(events []Event) {
	for _, e := range events {
		if e.Seq > r.after {
			r.left = append(r.left, e)
		}
	}
}

// skip continues from the marker before a record if earlier records were pruned.
func (r *Reader) skip(ctx context.Context, record int64) error {
	if record == r.log.Journal()+1 {
		return nil
	}
	m, found, err := readMark(ctx, r.s.db.Read(), r.log.about.SessionID, `journal_seq >= $2 order by journal_seq limit 1`,
		max(record-1, r.log.Journal()))
	if err != nil || !found {
		return err // the pruned part is unknown: continue with the rest
	}
	if err := r.from(m); err != nil {
		return err
	}
	if m.seq > r.after {
		r.Oldest, r.left = m.seq+1, nil
	}
	return nil
}

// Behind returns the number of unread records of the session.
func (r *Reader) Behind(ctx context.Context) (int64, error) {
	last, err := journal.Sequence(ctx, r.s.db.Read(), database.EncodeText(r.log.about.SessionID))
	return last - r.log.Journal(), err
}

// News receives a signal whenever a session may have more events, until the caller calls cancel.
func (s *Service) News(sessionID string) (news <-chan struct{}, cancel func()) {
	mine := wake.New()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers[sessionID] == nil {
		s.readers[sessionID] = map[wake.Signal]struct{}{}
	}
	s.readers[sessionID][mine] = struct{}{}
	return mine, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.readers[sessionID], mine); len(s.readers[sessionID]) == 0 {
			delete(s.readers, sessionID)
		}
	}
}

// latest returns a session's log in its current state.
func (s *Service) latest(ctx context.Context, sessionID string) (*Log, []Event, error) {
	const all = 1 << 62
	r, err := s.Reader(ctx, sessionID, all)
	if err != nil {
		return nil, nil, err
	}
	r.after = 0
	events, err := r.Next(ctx, all)
	return r.log, events, err
}

// lastSeq returns the number of a task's last event, 0 without one.
func (s *Service) lastSeq(ctx context.Context, sessionID, taskID string) (last int64, err error) {
	r, err := s.Reader(ctx, sessionID, 0)
	if err != nil {
		return 0, err
	}
	for {
		events, err := r.Next(ctx, readRecords)
		if err != nil || len(events) == 0 {
			return last, err
		}
		for _, e := range events {
			if e.Trace.TaskID == taskID {
				last = e.Seq
			}
		}
	}
}

// markEvery is the number of events between two markers of a session.
const markEvery = 200

// storeMarker stores the last event of an ended task, and periodically the position of the session's events.
func (s *Service) storeMarker(ctx context.Context, t Task) error {
	log, events, err := s.latest(ctx, t.SessionID)
	if err != nil || len(events) == 0 {
		return ignoreGone(err)
	}
	last := int64(0)
	for _, e := range events {
		if e.Trace.TaskID == t.ID {
			last = e.Seq
		}
	}
	_, err = s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := change(ctx, tx, t, `last_seq = $3`, `last_seq = 0`, last); err != nil {
			return nil, err
		}
		if log.state.Task != nil || log.Seq()-events[0].Seq < markEvery {
			return nil, nil
		}
		return nil, insertMark(ctx, tx, log)
	})
	return err
}

// ignoreGone drops the error of a deleted session.
func ignoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

// keepMarks keeps the event numbers of records that are about to be pruned.
func (s *Service) keepMarks(ctx context.Context, tx database.Tx, below int64) error {
	sessions, err := database.ReadTexts(ctx, tx, "read the sessions whose events are pruned", `select session_id
		from task_sessions where session_id in (select distinct session_id from journal_events where pos < $1)`, below)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range sessions {
		errs = append(errs, s.keepMark(ctx, tx, id, below))
	}
	return errors.Join(errs...)
}

func (s *Service) keepMark(ctx context.Context, tx database.Tx, sessionID string, below int64) error {
	r, err := s.Reader(ctx, sessionID, 1<<62)
	if isGone(err) {
		return nil // its events are gone, too
	}
	if err != nil {
		return err
	}
	// If the latest marker is after the pruned records, nothing is lost.
	for {
		records, err := s.journal.ReadSession(ctx, database.EncodeText(sessionID), r.log.Journal(), readRecords)
		if err != nil {
			return err
		}
		r.log.Begin()
		for i := range records {
			if records[i].Pos >= below {
				return insertMark(ctx, tx, r.log)
			}
			r.log.Take(&records[i])
		}
		if len(records) < readRecords {
			return insertMark(ctx, tx, r.log)
		}
	}
}
