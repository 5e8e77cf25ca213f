package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/stream"
	"harness/transcript"
)

// Timing bounds the turns of workers (ORCHESTRATOR_AGENT_*).
type Timing struct {
	// Turn bounds one turn.
	Turn time.Duration
	// Poll is the interval at which the store is polled for missed notifications.
	Poll time.Duration
	// IncludeTurns bounds the wait for the text of a finished turn.
	IncludeTurns time.Duration
	// UntrustedTerminal bounds the wait for the end of a turn that no longer runs.
	UntrustedTerminal time.Duration
	// EmptyTurn is the time that a running turn may stay without an item.
	EmptyTurn time.Duration
}

// DefaultTiming returns codex-manager's defaults.
func DefaultTiming() Timing {
	return Timing{Turn: 180 * time.Second, Poll: 350 * time.Millisecond, IncludeTurns: 3 * time.Second,
		UntrustedTerminal: 3 * time.Second, EmptyTurn: 8 * time.Second}
}

// turns runs one turn of a worker at a time.
type turns struct {
	sessions Sessions
	journal  *journal.Journal
	timing   Timing
	clock    func() time.Time
	log      zerolog.Logger
}

var (
	errTurnTimeout = queue.Transient(errors.New("worker turn timed out"))
	errNoProgress  = queue.Transient(errors.New("worker turn made no item progress"))
	errInterrupted = errors.New("worker turn interrupted")
)

// leastPatience is the minimum wait for a turn that an earlier process started, because attaching to its runtime takes
// time.
const leastPatience = 10 * time.Second

// settledBy is the actor that answers workers' requests, because no person sees them.
const settledBy = "orchestrator"

// order is the request of a job's step to a session.
type order struct {
	step, sessionID string
	message         session.Message
	// began is called with the turn once it started.
	began func(step) error
	// early, if not nil, ends the wait before the turn ends.
	early <-chan struct{}
}

// run carries out an order in a separate turn and waits until that turn ends. If an earlier process started the turn,
// run waits for that one. It interrupts a turn that it stops waiting for, unless another process will resume it.
func (t turns) run(ctx context.Context, run *queue.Run, o order) (turnID string, err error) {
	// Subscribe before the turn starts, so that the watcher misses nothing.
	watcher := newTurnWatcher(o.sessionID)
	_, unsubscribe := t.journal.Subscribe(watcher.onRecords)
	defer unsubscribe()
	s, resumed, err := t.resume(ctx, run, o.step)
	if err == nil && !resumed {
		s, err = t.begin(ctx, run, o, watcher)
	}
	if err != nil {
		return "", err
	}
	err = t.follow(ctx, run, s, o, watcher)
	if o.step != stepJob && s.resumed && errors.Is(err, errInterrupted) {
		// The turn's runtime ended with its server. Repeating the orientation is harmless.
		if s, err = t.begin(ctx, run, o, watcher); err == nil {
			err = t.follow(ctx, run, s, o, watcher)
		}
	}
	return s.TurnID, err
}

// follow waits until a step's turn ends.
func (t turns) follow(ctx context.Context, run *queue.Run, s step, o order, watcher *turnWatcher) error {
	if s.resumed {
		t.log.Info().Str("job", run.Job().ID).Str("step", s.Name).Str("session", s.SessionID).Str("turn", s.TurnID).
			Msg("a job resumes the turn that an earlier process began")
	}
	if err := o.began(s); err != nil {
		if cause := context.Cause(ctx); left(cause) {
			return cause
		}
		t.interrupt(ctx, s.SessionID, s.TurnID)
		if errors.Is(err, queue.ErrLost) {
			return fmt.Errorf("%w: its job was over", errInterrupted)
		}
		return err
	}
	over, err := t.wait(ctx, s, watcher, o.early)
	if cause := context.Cause(ctx); err != nil && left(cause) {
		return cause // the cause explains the failed call
	}
	if !over {
		t.interrupt(ctx, s.SessionID, s.TurnID)
	}
	if err != nil && retryable(err) && !stale(err) {
		// The outcome of this turn is known, so another attempt requests another turn.
		return errors.Join(err, t.forget(ctx, run))
	}
	return err
}

// wait returns true when the turn ended, and false when it stops waiting.
func (t turns) wait(ctx context.Context, s step, watcher *turnWatcher, early <-chan struct{}) (over bool, err error) {
	sessionID, turnID := s.SessionID, s.TurnID
	limit := time.After(t.remaining(s))
	empty := time.After(t.timing.EmptyTurn)
	poll := time.Tick(t.timing.Poll)
	var unknownSince time.Time
	for {
		var known bool
		state, err := patiently(ctx, t.timing.Poll, func() (state session.TurnState, err error) {
			state, known, err = t.sessions.Turn(ctx, sessionID, turnID)
			return state, err
		})
		if err != nil {
			return false, err
		}
		switch {
		case known && state.Status == runtime.TurnDone:
			return true, nil
		case known && state.Status == runtime.TurnInterrupted:
			return true, fmt.Errorf("%w: %s", errInterrupted, or(state.Error, "no reason given"))
		case known && state.Status != runtime.TurnInProgress:
			err := fmt.Errorf("worker turn %s: %s", state.Status, or(state.Error, "no reason given"))
			if queue.Retryable(state.Kind) {
				err = queue.Transient(err)
			}
			return true, err
		case known:
			unknownSince = time.Time{}
		case unknownSince.IsZero():
			unknownSince = time.Now()
		case time.Since(unknownSince) > t.timing.UntrustedTerminal:
			return false, fmt.Errorf("worker turn %s is unknown to its session: %w", turnID, runtime.ErrThreadNotFound)
		}
		t.settleRequests(ctx, sessionID)
		select {
		case <-watcher.news:
		case <-poll:
		case <-empty:
			if !watcher.sawItem() && !s.resumed { // another process saw the earlier items
				return false, errNoProgress
			}
		case <-limit:
			return false, errTurnTimeout
		case <-early:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// patiently reads from the store, and retries while the store is unreachable. The turn continues during that time, and
// its end can be read later. The attempt's timeout bounds the wait.
func patiently[T any](ctx context.Context, interval time.Duration, read func() (T, error)) (T, error) {
	return again(ctx, interval, database.Transient, read)
}

// again repeats do while it fails with a transient error.
func again[T any](ctx context.Context, interval time.Duration, passes func(error) bool,
	do func() (T, error)) (T, error) {
	value, err := do()
	if !passes(err) {
		return value, err
	}
	poll := time.Tick(interval)
	for passes(err) {
		select {
		case <-poll:
			value, err = do()
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
	return value, err
}

// remaining returns the rest of a turn's time. A turn that ended while no process ran can still be read.
func (t turns) remaining(s step) time.Duration {
	if !s.resumed {
		return t.timing.Turn
	}
	return min(t.timing.Turn, max(leastPatience, t.timing.Turn-t.clock().Sub(time.UnixMilli(s.At))))
}

// interrupt ends a turn that no caller waits for, best effort.
func (t turns) interrupt(ctx context.Context, sessionID, turnID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if _, err := t.sessions.Interrupt(ctx, sessionID, turnID); err != nil && !errors.Is(err, session.ErrNoActiveTurn) &&
		!errors.Is(err, session.ErrWrongTurn) {
		t.log.Warn().Err(err).Str("session", sessionID).Str("turn", turnID).Msg("a worker's turn could not be interrupted")
	}
}

// settleRequests answers a worker's requests: it declines approvals, cancels questions, and fails tool calls.
func (t turns) settleRequests(ctx context.Context, sessionID string) {
	pending, err := t.sessions.Pending(ctx, sessionID)
	if err != nil {
		t.log.Warn().Err(err).Str("session", sessionID).Msg("cannot read a worker's requests; trying again")
	}
	for _, request := range pending {
		var settled *session.SettledError
		if _, err := t.sessions.Settle(ctx, request.ID, request.Kind, refusalOf(request.Kind), settledBy); err != nil &&
			!errors.As(err, &settled) {
			t.log.Warn().Err(err).Str("session", sessionID).Str("request", request.ID).
				Msg("cannot settle a worker's request; trying again")
		}
	}
}

func refusalOf(kind runtime.RequestKind) runtime.Reply {
	switch kind {
	case runtime.RequestToolInput:
		return runtime.Reply{Decision: "cancel"}
	case runtime.RequestToolCall:
		return runtime.Reply{
			ContentItems: encode([]map[string]string{{"type": "inputText", "text": "This worker has no tools of its own."}})}
	default:
		return runtime.Reply{Decision: "decline"}
	}
}

// text returns the worker's last message in a turn. The end of a turn may be published before its last item, so text
// reads an empty text again.
func (t turns) text(ctx context.Context, sessionID, turnID string, needed bool) (string, error) {
	patience := time.After(t.timing.IncludeTurns)
	poll := time.Tick(t.timing.Poll)
	for {
		entries, err := patiently(ctx, t.timing.Poll, func() ([]transcript.Entry, error) {
			return t.sessions.TurnEntries(ctx, sessionID, turnID)
		})
		if err != nil {
			return "", err
		}
		text := ""
		for _, entry := range entries {
			if entry.Role == "assistant" && strings.TrimSpace(entry.Content) != "" {
				text = entry.Content
			}
		}
		if text != "" || !needed {
			return text, nil
		}
		select {
		case <-poll:
		case <-patience:
			return "", errors.New("worker turn ended without a text")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// turnWatcher wakes its reader when the turn or a request of one session may have changed, and records whether an item
// changed.
type turnWatcher struct {
	sessionID string
	news      wake.Signal
	item      wake.Signal // filled by the first event of an item
}

func newTurnWatcher(sessionID string) *turnWatcher {
	return &turnWatcher{sessionID: sessionID, news: wake.New(), item: wake.New()}
}

// onRecords is a journal.Subscriber: it never blocks. Most records are deltas of an item, which neither end a
// turn nor ask for anything.
func (h *turnWatcher) onRecords(records []journal.Record) {
	for _, record := range records {
		if record.SessionID != h.sessionID {
			continue
		}
		if record.ItemID == "" || record.Type == stream.EventRequest {
			h.news.Set()
		}
		// entries that this server wrote are no progress of the turn
		if record.ItemID != "" && record.Type != "transcript_updated" {
			h.item.Set()
		}
	}
}

func (h *turnWatcher) sawItem() bool { return len(h.item) > 0 }
