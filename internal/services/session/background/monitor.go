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

// Sessions is what a Monitor needs of who runs the sessions.
type Sessions interface {
	// InOrder changes the live index and queues a unit as one step of the commit order.
	InOrder(ctx context.Context, prepare func() journal.Unit) error
	// LoadView brings a session into the live index.
	LoadView(runtimeName, sessionID string)
}

// Options are what a Monitor is built from.
type Options struct {
	DB       *database.DB
	NodeID   string
	Locks    *keylock.Locks
	Index    *live.Index
	Watch    *Watch
	Sessions Sessions
	// Owned finds a session of this node and its runtime; Mine says within a unit whether it still is this node's.
	Owned  func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	Mine   func(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error)
	Logger zerolog.Logger
	// Now is the time in ms.
	Now func() int64
}

// Monitor knows and ends the background work of sessions.
type Monitor struct {
	options Options
	entries transcript.Store
}

// New builds a Monitor.
func New(o Options) *Monitor { return &Monitor{options: o} }
