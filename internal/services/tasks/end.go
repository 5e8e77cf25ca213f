package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Ended describes an ended task.
type Ended struct {
	SessionID, TaskID string
	// TurnID is the task's turn, "" if none began.
	TurnID string
	// TraceID and SpanID identify the trace of the task's request, "" for none.
	TraceID, SpanID string
	Status          Status
	// Code is the failure's code, "" for none.
	Code string
	// Asked is when the task was submitted, At when it ended.
	Asked, At time.Time
}

// end stores the outcome of a task once: a later call changes nothing.
func (s *Service) end(ctx context.Context, t Task, outcome Outcome) error {
	stored, err := s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return s.endIn(ctx, tx, t, outcome)
	})
	s.notifyEnded(t, stored)
	if err == nil {
		err = s.storeMarker(ctx, t)
	}
	return err
}

// notifyEnded calls Options.Ended once a task's end is stored.
func (s *Service) notifyEnded(t Task, stored []journal.Record) {
	if s.opts.Ended == nil {
		return
	}
	for i := range stored {
		var what ownRecord
		if stored[i].Type == recordEnded && json.Unmarshal(stored[i].Payload, &what) == nil && what.Outcome != nil {
			ended := Ended{SessionID: t.SessionID, TaskID: t.ID, TurnID: what.TurnID, TraceID: t.traceID, SpanID: t.spanID,
				Status: what.Outcome.Status, Asked: time.UnixMilli(t.CreatedAt), At: time.UnixMilli(stored[i].Time)}
			if failure := what.Outcome.Failure; failure != nil {
				ended.Code = failure.Code
			}
			s.opts.Ended(ended)
		}
	}
}

// Open counts the unfinished tasks of this store: queued and running ones.
func (s *Service) Open(ctx context.Context) (queued, running int64, err error) {
	err = s.db.Read().QueryRowContext(ctx,
		`select coalesce(sum(case when status = $1 then 1 else 0 end), 0), count(*) from tasks where ended_at = 0`,
		string(Queued)).Scan(&queued, &running)
	return queued, running - queued, err
}

// endIn is end within a transaction. If the task was stopped, an interrupted turn ends it as stopped, with the reason
// of that stop.
func (s *Service) endIn(ctx context.Context, tx database.Tx, t Task, outcome Outcome) ([]journal.Event, error) {
	now, err := readTask(ctx, tx, t.SessionID, t.ID)
	if errors.Is(err, ErrNotFound) || err == nil && now.Status.Over() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	interruption := outcome.Reason == interrupted || outcome.Failure != nil && outcome.Failure.Code == CodeInterrupted
	if now.stopReason != "" && interruption {
		outcome = Outcome{Status: Stopped, Reason: now.stopReason}
	}
	changed, err := change(ctx, tx, t, `status = $3, outcome = $4, ended_at = $5`, `ended_at = 0`, string(outcome.Status),
		database.EncodeText(encodeOutcome(outcome)), s.now())
	if err != nil || !changed {
		return nil, err
	}
	what := ownRecord{TaskID: t.ID, TurnID: now.TurnID, Outcome: &outcome}
	if now.Status == Queued {
		what.Messages, what.Mode = encode(now.Messages), now.Mode // none of its events was published
	}
	return []journal.Event{s.record(now, recordEnded, what)}, nil
}

// Stop is a request to stop a task.
type Stop struct {
	// Reason is the reason in the caller's words, "" for DefaultStop.
	Reason string
	// Origin identifies the caller.
	Origin Origin
}

// DefaultStop is the reason of a stop without one.
const DefaultStop = "stop requested"

// StopTask ends a task and returns when it has ended: a queued one at once, a running one with its turn. A turn that
// does not end within stopPatience leaves the task running. already reports that the task had ended before.
// ErrNotFound; other errors are those of operations.Check.
func (s *Service) StopTask(ctx context.Context, sessionID, taskID string, stop Stop) (t Task, already bool, err error) {
	// The second check covers unknown sessions, which have nothing to interrupt.
	for _, op := range []operations.Operation{operations.Interrupt, operations.Read} {
		if err := s.opts.Operations.Check(ctx, op, sessionID); err != nil {
			return Task{}, false, err
		}
	}
	reason := cmp.Or(stop.Reason, DefaultStop)
	stored, err := s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		already = false
		if t, err = readTask(ctx, tx, sessionID, taskID); err != nil {
			if errors.Is(err, ErrNotFound) {
				err = journal.Refuse(err)
			}
			return nil, err
		}
		if already = t.Status.Over(); already {
			return nil, nil
		}
		if t.Status == Queued {
			return s.endIn(ctx, tx, t, Outcome{Status: Stopped, Reason: valid(reason)})
		}
		changed, err := change(ctx, tx, t, `stop_reason = $3`, `ended_at = 0 and stop_reason = ''`,
			database.EncodeText(valid(reason)))
		if err != nil || !changed || stop.Origin == (Origin{}) {
			return nil, err
		}
		stopper := t
		stopper.Origin = stop.Origin
		return []journal.Event{s.record(stopper, recordAsked, ownRecord{TaskID: t.ID})}, nil
	})
	if errors.Is(err, ErrNotFound) {
		return s.stopForeign(ctx, sessionID, taskID)
	}
	if err != nil {
		return Task{}, false, err
	}
	s.notifyEnded(t, stored)
	s.wake(sessionID)
	t, err = s.awaitEnd(ctx, sessionID, func(ctx context.Context) (Task, error) {
		return readTask(ctx, s.db.Read(), sessionID, taskID)
	})
	return t, already, err
}

// stopPatience is how long a stop waits for its task: the limits for the end of a turn and of its process.
const stopPatience = 13 * time.Second

// awaitEnd reads a task until it has ended, for at most stopPatience.
func (s *Service) awaitEnd(ctx context.Context, sessionID string, read func(context.Context) (Task, error)) (Task, error) {
	news, cancel := s.News(sessionID)
	defer cancel()
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	again := time.NewTicker(s.opts.Poll)
	defer again.Stop()
	for {
		t, err := read(ctx)
		if err != nil || t.Status.Over() {
			return t, err
		}
		select {
		case <-news:
		case <-again.C:
		case <-patience.C:
			return t, nil
		case <-ctx.Done():
			return t, ctx.Err()
		}
	}
}

// stopForeign interrupts a turn that another client began.
func (s *Service) stopForeign(ctx context.Context, sessionID, turnID string) (t Task, already bool, err error) {
	t, err = s.foreign(ctx, sessionID, turnID)
	if err != nil || t.Status.Over() {
		return t, err == nil, err
	}
	_, err = s.opts.Operations.Interrupt(ctx, sessionID, turnID)
	if errors.Is(err, session.ErrNoActiveTurn) || errors.Is(err, session.ErrWrongTurn) {
		err = nil // the turn has already ended
	}
	if err == nil {
		t, err = s.awaitEnd(ctx, sessionID, func(ctx context.Context) (Task, error) { return s.foreign(ctx, sessionID, turnID) })
	}
	return t, false, err
}

// forgetLoop removes the tasks of sessions as they are deleted.
func (s *Service) forgetLoop(ctx context.Context) {
	for {
		select {
		case <-s.going:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		gone := s.gone
		s.gone = map[string]bool{}
		s.mu.Unlock()
		for id := range gone {
			if err := s.forget(ctx, id); err != nil && ctx.Err() == nil {
				s.opts.Logger.Warn().Err(err).Str("session", id).
					Msg("the tasks of a deleted session could not be removed; they go when records are pruned")
			}
		}
	}
}

// forget removes the stored data of a deleted session.
func (s *Service) forget(ctx context.Context, sessionID string) error {
	_, err := s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var errs []error
		for _, table := range []string{"tasks", "task_sessions", "task_marks"} {
			_, err := tx.ExecContext(ctx, `delete from `+table+` where session_id = $1`, database.EncodeText(sessionID))
			errs = append(errs, err)
		}
		return nil, errors.Join(errs...)
	})
	return err
}
