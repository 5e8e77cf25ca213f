package manager

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/lib/lifecycle"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/live"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/transcript"
)

// stopperOptions configure stopper.
type stopperOptions struct {
	Journal  *journal.Journal
	DB       *database.DB
	Index    *live.Index
	Locks    *keylock.Locks
	Loops    *lifecycle.Loops
	Reader   *reading.Reader
	Runtimes *registry.Registry
	Monitor  *background.Monitor

	CheckOwner func(one session.Session) error
	LoadView   func(runtimeName, sessionID string)
	Record     func(ctx context.Context, done journal.Unit) error
	Enqueue    func(ctx context.Context, tx database.Tx, one session.QueuedMessage, state session.QueuedState, mark, failure string) (
		[]journal.Event, error)
	UpsertIn func(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) ([]journal.Event, error)
	Logger   zerolog.Logger
	Now      func() int64 // ms
}

// stopper ends turns, and the other running work of a session.
type stopper struct {
	options stopperOptions
	entries transcript.Store
	silence silenceTimers
	// stopPatience is how long an agent has to end a stopped turn.
	stopPatience time.Duration
}
