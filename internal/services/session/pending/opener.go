// Package pending opens sessions behind a temporary id, which the client gets before the runtime answers.
//
// It owns the meaning of a temporary id. It must never know how a session is opened.
package pending

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Sessions is an Opener's view of the session manager.
type Sessions interface {
	Create(ctx context.Context, in session.Create) (session.Session, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)
	// Stored reads a session from its row.
	Stored(ctx context.Context, sessionID string) (session.Session, error)
}

// Options configure Opener.
type Options struct {
	Journal  *journal.Journal
	DB       *database.DB
	NodeID   string
	Sessions Sessions
	// Now returns the time in ms.
	Now func() int64
}

// Opener opens sessions behind temporary ids.
type Opener struct {
	options Options
	// pending holds the ids of this process.
	pending pendingSessions
}

// New builds an Opener.
func New(o Options) *Opener { return &Opener{options: o} }
