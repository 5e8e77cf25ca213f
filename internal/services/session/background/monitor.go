// Package background lists and ends the background work of sessions, such as commands that outlive their turn.
//
// It owns which sessions have such work. It must never know how a turn runs.
package background

import (
	"context"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/transcript"
)

// Sessions is the Monitor's view of the session manager.
type Sessions interface {
	// InOrder changes the live index and queues a unit as one step of the commit order.
	InOrder(ctx context.Context, prepare func() journal.Unit) error
	// LoadView loads a session into the live index.
	LoadView(runtimeName, sessionID string)
}

// Options configure Monitor.
type Options struct {
	DB       *database.DB
	NodeID   string
	Locks    *keylock.Locks
	Index    *live.Index
	Watch    *Watch
	Sessions Sessions
	// Owned finds a session of this node and its runtime. Mine reports within a unit whether this node still owns it.
	Owned  func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	Mine   func(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error)
	Logger zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Monitor lists and ends the background work of sessions.
type Monitor struct {
	options Options
	entries transcript.Store
}

// New builds a Monitor.
func New(o Options) *Monitor { return &Monitor{options: o} }
