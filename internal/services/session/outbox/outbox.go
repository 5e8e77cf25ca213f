// Package outbox stores the unsent messages of sessions, and determines the result of messages whose sending was
// interrupted.
//
// It owns the queue of each session, the keys of messages and the markers of those in flight. It must never know HTTP
// or a provider's JSON shapes. It reaches turns only through the interfaces it declares.
package outbox

import (
	"context"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
)

// Sessions is the Outbox's view of sessions.
type Sessions interface {
	Stored(ctx context.Context, sessionID string) (session.Session, error)
	// Owned finds a session of this node and its runtime.
	Owned(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	CheckWorkspace(ctx context.Context, sessionID string) error
	// CheckMessage refuses a message now if the runtime would refuse it later.
	CheckMessage(ctx context.Context, sess session.Session, adapter runtime.Adapter, message session.Message) error
	// Mine reports within a unit whether this node owns a session under an epoch.
	Mine(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error)
	// LoadView loads a session into the live index.
	LoadView(runtimeName, sessionID string)
}

// Turns starts and ends turns.
type Turns interface {
	Send(ctx context.Context, sessionID string, message session.Message) (session.Sent, error)
	StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error)
	// TurnSince returns the turn that started after a mark.
	TurnSince(ctx context.Context, sessionID string, mark session.TurnMark) (turnID string, err error)
}

// Options configure Outbox. Only Pictures may be nil.
type Options struct {
	Journal  *journal.Journal
	DB       *database.DB
	Index    *live.Index
	Locks    *keylock.Locks
	Sessions Sessions
	Turns    Turns
	NodeID   string
	// Pictures converts the images of a queued message for a runtime.
	Pictures func(ctx context.Context, sessionID string, images []string) ([]string, error)
	// Trace returns the trace of the caller, zero for none.
	Trace  func(ctx context.Context) session.Trace
	Logger zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Outbox stores the messages of sessions until their runtimes accept them.
type Outbox struct {
	opts     Options
	sessions Sessions
	turns    Turns
	sender   *queueSender
}

// New returns an Outbox that sends nothing until SendQueued runs.
func New(opts Options) *Outbox {
	return &Outbox{opts: opts, sessions: opts.Sessions, turns: opts.Turns, sender: newQueueSender()}
}

// WakeQueue makes SendQueued read the queue now.
func (o *Outbox) WakeQueue() { o.sender.wake.Set() }
