package tasks

import (
	"cmp"
	"context"
	"errors"
	"time"

	"harness/internal/platform/auth"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// errNotQueued stops the delivery of a task that was stopped or has already ended.
var errNotQueued = errors.New("the task waits no longer")

// errArchived is the failure of a queued task whose session was archived.
var errArchived = errors.New("the session was archived; unarchive it, then submit the task again")

// unlessArchived returns a transaction that begins a task, unless its session is archived.
func (s *Service) unlessArchived(sessionID string, begin journal.Unit) journal.Unit {
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		archived, err := store.ArchivedIn(ctx, tx, sessionID)
		if err == nil && archived {
			err = journal.Refuse(errArchived)
		}
		if err != nil {
			return nil, err
		}
		return begin(ctx, tx)
	}
}

// send begins the turn of a queued task, once the session has no turn and its runtime accepts one.
func (s *Service) send(ctx context.Context, l *lane, t Task, runtimeName string) error {
	message, before, mode, err := s.message(ctx, t)
	if err != nil {
		return err
	}
	if changed, err := s.changedSources(ctx, t, runtimeName); err != nil || changed != nil {
		if err == nil {
			err = s.end(ctx, t, *changed)
		}
		return err
	}
	kept, err := s.keepInput(ctx, t, message, mode)
	if err != nil {
		return err
	}
	as, err := s.started(ctx, t, message, mode, kept)
	if err != nil {
		return err
	}
	message.Begin = s.unlessArchived(t.SessionID, s.begin(t, Queued, before, as))
	turnID, err := s.sendWatched(ctx, l, t, message)
	if err == nil {
		return s.bind(ctx, t, turnID)
	}
	if errors.Is(err, errNotQueued) || ctx.Err() != nil {
		return nil //nolint:nilerr // another server accepted it, or this service stops
	}
	now, readErr := readTask(ctx, s.db.Read(), t.SessionID, t.ID)
	switch {
	case errors.Is(readErr, ErrNotFound):
		return nil
	case readErr != nil:
		return readErr
	case errors.Is(err, errArchived):
		return s.end(ctx, now, Outcome{Status: Stopped, Reason: errArchived.Error()})
	case now.Status == starting:
		return s.afterRefusal(ctx, l, now, runtimeName, err)
	case passes(err):
		s.pause(ctx, l)
		return nil
	case errors.Is(err, runtime.ErrUnavailable), errors.Is(err, runtime.ErrTimeout):
		return s.end(ctx, now, failed(runtimeName, CodeRuntime, true, err))
	case errors.Is(err, runtime.ErrAuthRequired):
		return s.end(ctx, now, failed(runtimeName, CodeAuth, false, err))
	}
	return s.end(ctx, now, failed(runtimeName, CodeRefused, false, err))
}

// sendWatched is Send, aborted if the task is stopped before its turn begins.
func (s *Service) sendWatched(ctx context.Context, l *lane, t Task, message session.Message) (turnID string, err error) {
	sending, cancel := context.WithCancelCause(s.onBehalf(ctx, t))
	defer cancel(nil)
	type answer struct {
		turnID string
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		sent, err := s.opts.Sessions.Send(sending, t.SessionID, message)
		answered <- answer{sent.TurnID, err}
	}()
	for {
		select {
		case a := <-answered:
			if errors.Is(context.Cause(sending), errNotQueued) && a.err != nil {
				a.err = errNotQueued
			}
			return a.turnID, a.err
		case <-l.news:
			if now, err := readTask(ctx, s.db.Read(), t.SessionID, t.ID); err == nil && now.Status.Over() {
				cancel(errNotQueued)
			}
		}
	}
}

// onBehalf returns a context with the trace and the caller of the task's request.
func (s *Service) onBehalf(ctx context.Context, t Task) context.Context {
	if t.actor != "" {
		ctx = auth.WithPrincipal(ctx, auth.Principal{Actor: t.actor})
	}
	return telemetry.WithTrace(ctx, telemetry.Trace{TraceID: t.traceID, SpanID: t.spanID})
}

// message returns the message of a task, the turns before it, and its mode.
func (s *Service) message(ctx context.Context, t Task) (session.Message, session.TurnMark, Mode, error) {
	before, err := s.opts.Sessions.TurnMark(ctx, t.SessionID)
	if err != nil {
		return session.Message{}, before, "", err
	}
	mode, err := s.modeOf(ctx, t)
	message := session.Message{Text: prompt(t.Messages), Alone: true}
	message.ApprovalPolicy, message.FilesystemSandbox = mode.controls()
	return message, before, mode, err
}

// modeOf returns the permission mode of a task: its own, otherwise that of Modes.
func (s *Service) modeOf(ctx context.Context, t Task) (Mode, error) {
	if t.Mode != "" {
		return t.Mode, nil
	}
	modes, err := s.Modes(ctx, t.SessionID)
	return modes[t.SessionID], err
}

// Modes returns the permission modes of sessions for tasks without one: the session's, otherwise the server's. A
// session without one uses the levels of its controls.
func (s *Service) Modes(ctx context.Context, sessionIDs ...string) (map[string]Mode, error) {
	modes, err := sessionModes(ctx, s.db.Read(), sessionIDs)
	if err != nil || s.opts.Mode == "" {
		return modes, err
	}
	for _, id := range sessionIDs {
		if modes[id] == "" {
			modes[id] = s.opts.Mode
		}
	}
	return modes, nil
}

// begin returns the transaction that starts a task with status from. Once it commits, clients see the task as running.
func (s *Service) begin(t Task, from Status, before session.TurnMark, as ownRecord) journal.Unit {
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		at := s.now()
		changed, err := change(ctx, tx, t, `status = $4, before_turn = $5, started_at = $6`, `status = $3`, string(from),
			string(starting), encodeMark(before), at)
		if err != nil {
			return nil, err
		}
		if !changed {
			return nil, journal.Refuse(errNotQueued)
		}
		if from == starting {
			return nil, nil // an earlier attempt published it
		}
		return []journal.Event{s.record(t, recordStarted, as)}, nil
	}
}

// started describes the start of a task, with its mode and levels.
func (s *Service) started(ctx context.Context, t Task, message session.Message, mode Mode, kept *given) (ownRecord,
	error) {
	stored, err := s.opts.Sessions.Lookup(ctx, t.SessionID)
	if err != nil {
		return ownRecord{}, err
	}
	runs := levelsOf(stored.Controls, message)
	return ownRecord{TaskID: t.ID, Messages: encode(t.Messages), Mode: cmp.Or(mode, runs.mode()), Levels: runs, Given: kept,
		ReportRequests: s.opts.ReportRequests, Facts: pointer(factsOf(stored, ""))}, nil
}

func pointer[T any](value T) *T { return &value }

// record returns a journal event of this package about a task, in the name of its actor.
func (s *Service) record(t Task, kind string, what ownRecord) journal.Event {
	what.Origin = t.Origin
	return journal.Event{SessionID: database.EncodeText(t.SessionID), TurnID: database.EncodeText(what.TurnID), Type: kind,
		Time: s.now(), Source: "tasks", Actor: t.actor, TraceID: t.traceID, SpanID: t.spanID, Payload: encode(what)}
}

// bind stores the turn of a task.
func (s *Service) bind(ctx context.Context, t Task, turnID string) error {
	facts, err := s.factsNow(ctx, t.SessionID) // the runtime may have restarted the conversation
	if err != nil {
		return err
	}
	_, err = s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		changed, err := change(ctx, tx, t, `status = $4, turn_id = $5`, `status = $3`, string(starting), string(Running),
			database.EncodeText(turnID))
		if err != nil || !changed {
			return nil, err
		}
		return []journal.Event{s.record(t, recordBound, ownRecord{TaskID: t.ID, TurnID: turnID, Facts: facts})}, nil
	})
	return err
}

// afterRefusal continues with a started task after its runtime did not accept the message directly.
func (s *Service) afterRefusal(ctx context.Context, l *lane, t Task, runtimeName string, cause error) error {
	if !refused(cause) {
		return s.recall(ctx, l, t, runtimeName, cause)
	}
	code, retryable := CodeRuntime, errors.Is(cause, runtime.ErrTransient) || errors.Is(cause, runtime.ErrTurnActive)
	if errors.Is(cause, runtime.ErrAuthRequired) {
		code = CodeAuth
	}
	return s.end(ctx, t, failed(runtimeName, code, retryable, cause))
}

// recall determines whether the turn of a started task began, after its server was killed or its runtime did not
// respond. It requests a missing turn once more, unless cause explains why it is unavailable.
func (s *Service) recall(ctx context.Context, l *lane, t Task, runtimeName string, cause error) error {
	before, err := decodeMark(t.before)
	if err != nil {
		return s.end(ctx, t, failed(runtimeName, CodeUnknown, false, err))
	}
	for deadline := s.opts.Clock().Add(recallPatience); ctx.Err() == nil; s.pause(ctx, l) {
		turnID, err := s.opts.Sessions.TurnSince(ctx, t.SessionID, before)
		late := s.opts.Clock().After(deadline)
		switch {
		case err == nil && turnID != "":
			return s.bind(ctx, t, turnID)
		case err == nil && errors.Is(cause, runtime.ErrTimeout) && !late:
			continue // the runtime may still accept it
		case err == nil && cause != nil:
			return s.end(ctx, t, failed(runtimeName, CodeRuntime, true, cause))
		case err == nil:
			return s.sendAgain(ctx, t, runtimeName)
		case !errors.Is(err, session.ErrTurnUnsettled) && !database.Transient(err), late:
			return s.end(ctx, t, failed(runtimeName, CodeUnknown, false, err))
		}
	}
	return nil
}

// recallPatience is how long to wait for a runtime that must attach or respond first.
const recallPatience = 3 * time.Minute

// sendAgain requests the turn of a started task if it certainly did not begin.
func (s *Service) sendAgain(ctx context.Context, t Task, runtimeName string) error {
	if t.stopReason != "" {
		return s.end(ctx, t, Outcome{Status: Stopped, Reason: t.stopReason})
	}
	message, before, _, err := s.message(ctx, t)
	if err != nil {
		return err
	}
	message.Begin = s.begin(t, starting, before, ownRecord{})
	sent, err := s.opts.Sessions.Send(s.onBehalf(ctx, t), t.SessionID, message)
	switch {
	case err == nil:
		return s.bind(ctx, t, sent.TurnID)
	case errors.Is(err, errNotQueued), ctx.Err() != nil:
		return nil //nolint:nilerr // another server accepted it, or this service stops
	case passes(err):
		return err // the next check retries
	}
	return s.end(ctx, t, failed(runtimeName, CodeRuntime, true, err))
}
