// Package projects manages projects, their chats, and the sessions of agents that work for them.
//
// It owns the project of a chat and the owner of a worker session. It must never know how a session runs.
package projects

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/registry"
)

// Sessions is the package's view of the session manager.
type Sessions interface {
	Archive(ctx context.Context, sessionID string) (session.Session, error)
	CheckOwner(one session.Session) error
	// DeleteBy deletes a session; after the given time it calls no runtime.
	DeleteBy(ctx context.Context, sessionID string, by time.Time) (session.Deleted, error)
	// InOrder changes the live index and queues a unit as one step of the commit order.
	InOrder(ctx context.Context, prepare func() journal.Unit) error
}

// Options configure Catalog and Agents.
type Options struct {
	Journal  *journal.Journal
	DB       *database.DB
	NodeID   string
	Sessions Sessions
	Index    *live.Index
	Runtimes *registry.Registry
	// Refetch makes the live index reload a session.
	Refetch func(sessionID string)
	Agents  *Agents
	Logger  zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Catalog manages the projects of a store.
type Catalog struct{ options Options }

// New builds a Catalog.
func New(o Options) *Catalog { return &Catalog{options: o} }

// Agents manages the worker sessions of projects and sessions.
type Agents struct {
	options Options

	mu    sync.RWMutex
	store WorkerStore
}

// NewAgents builds Agents.
func NewAgents(o Options) *Agents { return &Agents{options: o} }
