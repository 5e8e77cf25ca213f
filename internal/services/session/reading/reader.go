// Package reading reads sessions: single sessions with their transcripts, lists, and pending requests.
//
// It owns the clients' view of a stored session. It must never know how a session runs or changes.
package reading

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/registry"
	"harness/transcript"
)

// Sessions is a Reader's view of the session manager.
type Sessions interface {
	// Lookup finds a session, including one that only a runtime has.
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	// AwaitHistory waits for a limited time until the history of a session from elsewhere is imported.
	AwaitHistory(ctx context.Context, session session.Session) error
	// LoadView loads a session into the live index.
	LoadView(runtimeName, sessionID string)
}

// Options configure Reader.
type Options struct {
	Journal  *journal.Journal
	DB       *database.DB
	Index    *live.Index
	Runtimes *registry.Registry
	Sessions Sessions
	NodeID   string
	// Defaults are the controls of sessions without any; Locked ignores stored defaults.
	Defaults session.Controls
	Locked   bool
	// Now returns the time in ms.
	Now func() int64
}

// Reader reads sessions.
type Reader struct {
	options  Options
	journal  *journal.Journal
	db       *database.DB
	index    *live.Index
	runtimes *registry.Registry
	sessions Sessions
	entries  transcript.Store
}

// New builds a Reader.
func New(o Options) *Reader {
	return &Reader{options: o, journal: o.Journal, db: o.DB, index: o.Index, runtimes: o.Runtimes, sessions: o.Sessions}
}

// owns reports whether this node owns a session.
func (r *Reader) owns(one session.Session) bool { return one.NodeID == r.options.NodeID }
