// Package rollback takes back the last turns of sessions, in their runtimes and in their transcripts.
//
// It owns rollbacks whose outcome is not stored yet. It must never know how a turn runs.
package rollback

import (
	"context"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/transcript"
)

// Options configure Rollbacks.
type Options struct {
	Journal  *journal.Journal
	DB       *database.DB
	NodeID   string
	Locks    *keylock.Locks // of sessions
	Reader   *reading.Reader
	Runtimes *registry.Registry
	// Owned finds a session of this node and its runtime.
	Owned func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	// Refetch settles everything that is still unsettled in a runtime.
	Refetch func(runtimeName string)
	// Now returns the time in ms.
	Now func() int64
}

// Rollbacks takes back turns.
type Rollbacks struct {
	options Options
	entries transcript.Store
}

// New builds Rollbacks.
func New(o Options) *Rollbacks { return &Rollbacks{options: o} }
