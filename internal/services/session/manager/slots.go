package manager

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/store"
)

// Slots limits the running turns and the sessions in memory.
type Slots struct {
	db      *database.DB
	journal *journal.Journal
	index   *live.Index
	reader  *reading.Reader
	nodeID  string
	load    func(runtimeName, sessionID string) error // into the index
	log     zerolog.Logger
}

// makeRoom keeps the view from growing with every session ever used. It evicts a session only once the store has the
// same state. An empty unit confirms that: everything queued before it is then committed.
func (s *Slots) makeRoom(ctx context.Context) {
	spare := s.index.Spare()
	if len(spare) == 0 {
		return
	}
	nothing := func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }
	err := s.journal.Submit(ctx, nothing, func(_ []journal.Record, err error) {
		if err == nil {
			s.index.Evict(spare)
		}
	})
	if err != nil && !expected(err) {
		s.log.Debug().Err(err).Msg("idle sessions not unloaded yet")
	}
}

// Load returns the current load of a runtime.
func (s *Slots) Load(runtimeName string) session.Load { return s.index.Limits.Load(runtimeName) }

// countTurns counts the turns in processes that an earlier server left.
func (s *Slots) countTurns(ctx context.Context) error {
	turns, err := store.OpenTurns(ctx, s.db.Read(), s.nodeID)
	if err != nil {
		return err
	}
	for _, turn := range turns {
		if err := s.load("", turn.SessionID); err != nil && !errors.Is(err, session.ErrNotFound) && !database.Transient(err) {
			return err
		}
	}
	return nil
}

// reserveSlot counts a message until its release. It returns *LimitError if too many messages are being sent. Later
// checks report errors of the session.
func (s *Slots) reserveSlot(ctx context.Context, sessionID string) (leave func(), err error) {
	t, inView := s.index.Peek(sessionID)
	if !inView || !t.Stored {
		sess, err := s.reader.Stored(ctx, sessionID)
		if session.Absent(err) {
			return func() {}, nil
		}
		if err != nil {
			return nil, err
		}
		t.Runtime = sess.Runtime
	}
	return s.index.Limits.Reserve(t.Runtime, sessionID)
}

// needsSlot reports whether a message to a session starts a turn that needs a slot.
func (s *Slots) needsSlot(session session.Session) bool {
	return s.index.Limits.BoundsTurns(session.Runtime) && s.index.ActiveTurn(session.ID) == ""
}
