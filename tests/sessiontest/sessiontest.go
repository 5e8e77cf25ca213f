// Package sessiontest runs real sessions with an agent that is not codex (tests/runtimetest/scripted), for tests of
// packages that use sessions.
//
// A test binary that uses it needs scripted.Main as its TestMain, or a TestMain that starts with scripted.Play.
package sessiontest

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/manager"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/pending"
	"harness/internal/services/session/projects"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/tests/runtimetest/scripted"
)

// patience limits every wait; only a bug exhausts it.
const patience = time.Minute

// flat has the methods of all parts of a session service.
type flat struct {
	*registry.Registry
	*reading.Reader
	*outbox.Outbox
	*takeover.Ownership
	*takeover.Mover
	*projects.Catalog
	*projects.Agents
	*pending.Opener
	*controledit.Editor
	*rollback.Rollbacks
	*background.Monitor
	*workspace.Checker
	*manager.Upserter
	*manager.Deleter
	*manager.Conversations
	*manager.Organizer
	*manager.Slots
	*manager.FolderKeeper
	*manager.Stopper
	*manager.TurnFinder
	*manager.Tracer
	*manager.Spools
}

// Site is a session service with the scripted agent as its only runtime.
type Site struct {
	*manager.Service
	flat
	DB      *database.DB
	Journal *journal.Journal
	Agent   scripted.Site
	Runtime *scripted.Runtime

	t *testing.T
}

// Each runs a test on every engine, each time on a new site.
func Each(t *testing.T, test func(t *testing.T, s *Site), edits ...func(*manager.Options)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		test(t, Open(t, dbtest.Open(t, engine), edits...))
	})
}

// Open starts a site, which ends with the test. By default, its sessions have controls that the agent enforces.
func Open(t *testing.T, db *database.DB, edits ...func(*manager.Options)) *Site {
	t.Helper()
	s := &Site{t: t, DB: db, Agent: scripted.Site{Dir: t.TempDir()}}
	s.Journal = journal.New(db, journal.Options{Logger: zerolog.Nop(), Upcast: stream.Upcast})
	s.Start(s.Journal)
	sessions := manager.Options{Journal: s.Journal, DB: db, NodeOptions: manager.NodeOptions{NodeID: "node"}, WorkspaceRoot: s.Agent.Dir,
		Logger: zerolog.Nop(), Defaults: session.Controls{ApprovalPolicy: "untrusted", NetworkAccess: "enabled",
			FilesystemSandbox: "danger-full-access"}}
	for _, edit := range edits {
		edit(&sessions)
	}
	s.Service = manager.New(sessions)
	s.flat = flat{s.Service.Registry, s.Service.Reader, s.Service.Outbox, s.Service.Ownership, s.Service.Mover,
		s.Service.Catalog, s.Service.Agents, s.Service.Opener, s.Service.Editor, s.Service.Rollbacks,
		s.Service.Monitor, s.Service.Checker, s.Service.Upserter, s.Service.Deleter, s.Service.Conversations,
		s.Service.Organizer, s.Service.Slots, s.Service.FolderKeeper, s.Service.Stopper, s.Service.TurnFinder,
		s.Service.Tracer, s.Service.Spools}
	options := s.Agent.Options(t)
	options.Sink, options.Resume = s.Sink(scripted.Name), s.Resumption
	s.Runtime = scripted.New(options)
	s.Attach(s.Runtime)
	s.Start(s.Service)
	s.Start(s.Runtime)
	return s
}

// Start starts a part and stops it when the test ends.
func (s *Site) Start(part lifecycletest.Part) {
	s.t.Helper()
	lifecycletest.Run(s.t, part)
}

// Path returns the path of a file in the agent's folder.
func (s *Site) Path(name string) string { return filepath.Join(s.Agent.Dir, name) }

// NewSession opens a session and returns its id.
func (s *Site) NewSession() string {
	s.t.Helper()
	made, err := s.Create(s.t.Context(), session.Create{})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// Say sends a message and returns its turn.
func (s *Site) Say(sessionID, text string) string {
	s.t.Helper()
	sent, err := s.Send(s.t.Context(), sessionID, session.Message{Text: text})
	if err != nil {
		s.t.Fatalf("say %q: %v", text, err)
	}
	return sent.TurnID
}

// Until waits until a condition on stored state holds.
func (s *Site) Until(what string, holds func(ctx context.Context) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	news := make(chan struct{}, 1)
	_, unsubscribe := s.Journal.Subscribe(func([]journal.Record) {
		select {
		case news <- struct{}{}:
		default:
		}
	})
	defer unsubscribe()
	for !holds(ctx) {
		select {
		case <-news:
		case <-ctx.Done():
			s.t.Fatalf("never: %s", what)
		}
	}
}

// Asked waits for the agent's request in a session.
func (s *Site) Asked(sessionID string) (asked session.Request) {
	s.t.Helper()
	s.Until("a question of session "+sessionID, func(ctx context.Context) bool {
		pending, err := s.Pending(ctx, sessionID)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(pending) > 0 {
			asked = pending[0]
		}
		return len(pending) > 0
	})
	return asked
}

// Ended waits until a turn ends.
func (s *Site) Ended(sessionID, turnID string) (state session.TurnState) {
	s.t.Helper()
	s.Until("the end of turn "+turnID, func(ctx context.Context) bool {
		now, known, err := s.Turn(ctx, sessionID, turnID)
		if err != nil {
			s.t.Fatal(err)
		}
		state = now
		return known && state.Status != runtime.TurnInProgress
	})
	return state
}

// Parts returns the parts of a session service that operations need.
func Parts(s *manager.Service) operations.Sessions {
	of := manager.PartsOf(s)
	return operations.Sessions{Lookups: of.Finding, Opener: of.Sessions, Reader: of.Finding, Editor: of.Sessions, Turns: of.Turns,
		Threads: of.Sessions, Queue: s.Outbox, Requests: of.Requests, Projects: of.Projects, Usage: s.Reader, Lineage: s.Lineage,
		Folders: s.Checker}
}
