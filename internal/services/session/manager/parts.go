package manager

import (
	"context"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/background"
	"harness/internal/services/session/controledit"
	"harness/internal/services/session/outbox"
	"harness/internal/services/session/pending"
	"harness/internal/services/session/projects"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/rollback"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
)

// Each of these types has the methods of several parts that another part or a caller needs together.
type (
	readerSessions struct {
		*Service
		*Conversations
		*importer
	}
	openerSessions struct {
		*Service
		*Organizer
		*reading.Reader
	}
	projectSessions struct {
		*Service
		*takeover.Ownership
		*Organizer
		*Deleter
	}
	outboxSessions struct {
		*Service
		*reading.Reader
		*FolderKeeper
		*takeover.Ownership
	}
	outboxTurns struct {
		*Service
		*Stopper
		*TurnFinder
	}
	storedSessions struct {
		*reading.Reader
		*registry.Registry
	}
)

// Each of these types has the methods that a caller of the package needs together.
type (
	// Finding finds and reads sessions.
	Finding struct {
		*reading.Reader
		*Conversations
		*takeover.Ownership
		*takeover.Mover
		*FolderKeeper
	}
	// Sessions opens, changes and deletes sessions and their conversations.
	Sessions struct {
		*Service
		*pending.Opener
		*takeover.Ownership
		*workspace.Checker
		*Conversations
		*Organizer
		*Deleter
		*Upserter
		*rollback.Rollbacks
		*projects.Catalog
	}
	// Turns starts, finds and ends turns.
	Turns struct {
		*Service
		*reading.Reader
		*outbox.Outbox
		*background.Monitor
		*Conversations
		*Stopper
		*TurnFinder
	}
	// Requests reads and settles interactive requests, and upserts transcripts.
	Requests struct {
		*Service
		*reading.Reader
		*Upserter
	}
	// Projects manages projects and the sessions of their agents.
	Projects struct {
		*projects.Catalog
		*projects.Agents
	}
	// Controls reads and edits controls.
	Controls struct {
		*reading.Reader
		*controledit.Editor
	}
	// Runtimes describes runtimes and their load.
	Runtimes struct {
		*registry.Registry
		*Slots
	}
)

// Parts are the parts of a Service by the subjects of its callers.
type Parts struct {
	Finding  Finding
	Sessions Sessions
	Turns    Turns
	Requests Requests
	Projects Projects
	Controls Controls
	Runtimes Runtimes
}

// PartsOf returns the parts of a Service.
func PartsOf(s *Service) Parts {
	return Parts{
		Finding:  Finding{s.Reader, s.Conversations, s.Ownership, s.Mover, s.FolderKeeper},
		Sessions: Sessions{s, s.Opener, s.Ownership, s.Checker, s.Conversations, s.Organizer, s.Deleter, s.Upserter, s.Rollbacks, s.Catalog},
		Turns:    Turns{s, s.Reader, s.Outbox, s.Monitor, s.Conversations, s.Stopper, s.TurnFinder},
		Requests: Requests{s, s.Reader, s.Upserter},
		Projects: Projects{s.Catalog, s.Agents},
		Controls: Controls{s.Reader, s.Editor},
		Runtimes: Runtimes{s.Registry, s.Slots},
	}
}

// Owned implements outbox.Sessions.
func (s outboxSessions) Owned(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error) {
	return s.owned(ctx, sessionID)
}

// CheckMessage refuses a message now if the runtime would refuse it later.
func (s outboxSessions) CheckMessage(ctx context.Context, session session.Session, adapter runtime.Adapter, message session.Message) error {
	if len(message.Images) > 0 && !runtime.CapabilitiesOf(adapter).Images {
		return &runtime.UnsupportedError{Runtime: session.Runtime, Operation: runtime.OpImages}
	}
	if err := s.Registry.CheckTools(ctx, session.ID, message.DynamicTools); err != nil {
		return err
	}
	return s.Editor.CheckChanged(session.Runtime, session.Controls, session.Controls.With(message.Model, message.ApprovalPolicy,
		message.NetworkAccess, message.FilesystemSandbox))
}
