package manager

import (
	"context"
	"sync"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/transcript"
)

// quietFor is how long (ms) after a stop an agent may not go on by itself.
const quietFor = 60_000

// quiet are the sessions that were stopped and have nothing left that may begin a turn: until when (ms) their agents may
// not go on by themselves.
type quiet struct {
	mu    sync.Mutex
	until map[string]int64
}

func (q *quiet) begin(sessionID string, until int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.until == nil {
		q.until = map[string]int64{}
	}
	q.until[sessionID] = until
}

func (q *quiet) end(sessionID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.until, sessionID)
}

// at tells whether a session is to be quiet at a time, and forgets those that need not be any more.
func (q *quiet) at(sessionID string, now int64) bool {
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

// keepQuiet stops a turn that an agent has begun by itself in a session that was stopped: what it had heard of before the
// stop would go on otherwise.
func (s *Service) keepQuiet(signal runtime.Signal) {
	began, is := signal.Change.(runtime.TurnStarted)
	if !is || !began.Own || !s.quiet.at(signal.ThreadID, s.now()) {
		return
	}
	s.loops.Go(func(ctx context.Context) {
		_, err := s.StopTurn(ctx, signal.ThreadID, began.TurnID, false)
		if err == nil {
			err = s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				at := s.now()
				return s.UpsertTranscriptIn(ctx, tx, signal.ThreadID, transcript.Entry{MessageID: "quiet-" + began.TurnID,
					TurnID: began.TurnID, Role: "system", Type: "turn.quiet", Status: transcript.Complete, StartedAt: &at, CompletedAt: &at,
					Content: "The agent went on by itself after it was stopped, because work in the background had ended. This turn was stopped, too."})
			})
		}
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("session", signal.ThreadID).Str("turn", began.TurnID).
				Msg("a turn that an agent began by itself after it was stopped could not be stopped")
		}
	})
}
