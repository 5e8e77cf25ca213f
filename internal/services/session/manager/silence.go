package manager

import (
	"context"
	"sync"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/transcript"
)

// quietFor is how long (ms) after a stop an agent may not start a turn by itself.
const quietFor = 60_000

// silenceTimers holds the stopped sessions without running work. Until the stored time (ms), their agents must not
// start a turn.
type silenceTimers struct {
	mu    sync.Mutex
	until map[string]int64
}

func (q *silenceTimers) begin(sessionID string, until int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil {
		q.until = map[string]int64{}
	}
	q.until[sessionID] = until
}

func (q *silenceTimers) end(sessionID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.until, sessionID)
}

// at reports whether a session must be quiet at a time, and drops expired entries.
func (q *silenceTimers) at(sessionID string, now int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, until := range q.until {
		if until < now {
			delete(q.until, id)
		}
	}
	_, is := q.until[sessionID]
	return is
}

// watchSilence stops a turn that an agent has started by itself in a stopped session. Such a turn would act on events
// from before the stop.
func (s *Stopper) watchSilence(signal runtime.Signal) {
	began, is := signal.Change.(runtime.TurnStarted)
	if !is || !began.Own || !s.silence.at(signal.ThreadID, s.options.Now()) {
		return
	}
	s.options.Loops.Go(func(ctx context.Context) {
		_, err := s.StopTurn(ctx, signal.ThreadID, began.TurnID, false)
		if err == nil {
			err = s.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				at := s.options.Now()
				return s.options.UpsertIn(ctx, tx, signal.ThreadID, transcript.Entry{MessageID: "quiet-" + began.TurnID,
					TurnID: began.TurnID, Role: "system", Type: "turn.quiet", Status: transcript.Complete, StartedAt: &at, CompletedAt: &at,
					Content: "The agent went on by itself after it was stopped, because work in the background had ended. This turn was stopped, too."})
			})
		}
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn().Err(err).Str("session", signal.ThreadID).Str("turn", began.TurnID).
				Msg("cannot stop a turn that an agent started after a stop")
		}
	})
}
