package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
)

// stepJob is the step for a job's own instruction. The other steps are prompts that prepare a worker (its prepared
// keys).
const stepJob = "job"

// step is the current turn of an attempt. It is stored as the job's checkpoint before the turn is requested, and again
// once its turn id is known. The next process can then resume the turn instead of requesting another one.
type step struct {
	Name      string           `json:"step"`
	SessionID string           `json:"sessionId"`
	Before    session.TurnMark `json:"before"`
	// At is the time of the request, in ms. TurnID is "" until the runtime confirms the turn.
	At     int64  `json:"at"`
	TurnID string `json:"turnId,omitempty"`

	// resumed is true for a turn that an earlier process or attempt started.
	resumed bool
}

// errOutcomeUnknown ends a job if no record shows whether its instruction was carried out. The job is not retried.
var errOutcomeUnknown = errors.New("outcome unknown")

// begin requests a separate turn for a step of the job. It waits for a running turn of the session: a message steered
// into that turn would have that turn's rights and end with it. It also waits for a runtime at capacity.
func (t turns) begin(ctx context.Context, run *queue.Run, o order, watcher *turnWatcher) (step, error) {
	o.message.Alone = true
	limit := time.After(t.timing.Turn)
	poll := time.Tick(t.timing.Poll)
	for {
		before, err := patiently(ctx, t.timing.Poll, func() (session.TurnMark, error) {
			return t.sessions.TurnMark(ctx, o.sessionID)
		})
		if err != nil {
			return step{}, err
		}
		s := step{Name: o.step, SessionID: o.sessionID, Before: before, At: t.clock().UnixMilli()}
		if err := run.SetCheckpoint(ctx, encode(s)); err != nil {
			return step{}, err
		}
		sent, err := t.sessions.Send(ctx, o.sessionID, o.message)
		if s.TurnID = sent.TurnID; err == nil {
			return s, nil
		}
		if !refused(err) {
			s, err = t.recall(ctx, run, s, err)
			if err == nil && s.TurnID == "" {
				err = queue.Transient(errors.New("worker turn was not begun: the runtime is temporarily unavailable"))
			}
			return s, err
		}
		if err := t.forget(ctx, run); err != nil {
			return step{}, err
		}
		if !errors.Is(err, runtime.ErrTurnActive) && !busy(err) {
			return step{}, err
		}
		select {
		case <-watcher.news:
		case <-poll:
		case <-limit:
			return step{}, fmt.Errorf("%w: another turn of the worker did not end", errTurnTimeout)
		case <-ctx.Done():
			return step{}, context.Cause(ctx)
		}
	}
}

// refused reports whether an error proves that no turn started. Any other error leaves that open.
func refused(err error) bool {
	var native *runtime.Error
	var elsewhere *session.NotOwnerError
	return stale(err) || busy(err) || errors.Is(err, runtime.ErrTurnActive) || errors.As(err, &native) &&
		!errors.Is(err, runtime.ErrTimeout) ||
		errors.As(err, &elsewhere)
}

// busy reports whether an error says that a runtime or a session is at capacity: the job then waits.
func busy(err error) bool {
	var limit *session.LimitError
	return errors.As(err, &limit)
}

// resume returns the step that an earlier process or attempt left with its turn. Without one it returns false, and
// the turn must be requested.
func (t turns) resume(ctx context.Context, run *queue.Run, name string) (step, bool, error) {
	var left step
	raw := run.Checkpoint()
	if raw == nil {
		return step{}, false, nil
	}
	if err := json.Unmarshal(raw, &left); err != nil {
		return step{}, false, fmt.Errorf("%w: the job's checkpoint cannot be read: %w", errOutcomeUnknown, err)
	}
	if left.Name != name {
		return step{}, false, nil
	}
	if left.TurnID == "" {
		var err error
		if left, err = t.recall(ctx, run, left, nil); err != nil || left.TurnID == "" {
			return step{}, false, err
		}
	}
	left.resumed = true
	return left, true, nil
}

// recall determines whether the turn of a step started. If it did not, recall drops the step, so that the turn can be
// requested. cause is the known reason for the doubt, if any.
func (t turns) recall(ctx context.Context, run *queue.Run, s step, cause error) (step, error) {
	limit := time.After(t.timing.Turn)
	poll := time.Tick(t.timing.Poll)
	for {
		turnID, err := t.sessions.TurnSince(ctx, s.SessionID, s.Before)
		switch {
		case err == nil && turnID != "":
			s.TurnID = turnID
			return s, nil
		case err == nil && !errors.Is(cause, runtime.ErrTimeout):
			return s, t.forget(ctx, run)
		case err == nil:
			err = cause // the runtime may still start it
		}
		if ctx.Err() != nil {
			return s, context.Cause(ctx)
		}
		if !errors.Is(err, session.ErrTurnUnsettled) && !database.Transient(err) {
			return s, fmt.Errorf("%w: the instruction was sent to the worker, and is not sent again: %w", errOutcomeUnknown, err)
		}
		select {
		case <-poll:
		case <-limit:
			return s, fmt.Errorf("%w: the instruction was sent to the worker, and is not sent again: %w", errOutcomeUnknown, err)
		case <-ctx.Done():
			return s, context.Cause(ctx)
		}
	}
}

// forgetTime bounds the store write of an attempt that timed out.
const forgetTime = 5 * time.Second

// forget drops the step: a retry requests a new turn.
func (t turns) forget(ctx context.Context, run *queue.Run) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	return run.SetCheckpoint(ctx, nil)
}

// left reports whether an error means that the attempt's process leaves its turn to another process.
func left(err error) bool { return errors.Is(err, queue.ErrDetached) || errors.Is(err, queue.ErrLost) }
