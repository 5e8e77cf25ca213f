package manager

import (
	"context"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// outboxSessions implements the outbox's view of sessions.
type outboxSessions struct{ *Service }

// Owned implements outbox.Sessions.
func (s outboxSessions) Owned(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error) {
	return s.owned(ctx, sessionID)
}

// CheckMessage refuses a message now if the runtime would refuse it later.
func (s outboxSessions) CheckMessage(ctx context.Context, session session.Session, adapter runtime.Adapter, message session.Message) error {
	if len(message.Images) > 0 && !runtime.CapabilitiesOf(adapter).Images {
		return &runtime.UnsupportedError{Runtime: session.Runtime, Operation: runtime.OpImages}
	}
	if err := s.CheckTools(ctx, session.ID, message.DynamicTools); err != nil {
		return err
	}
	return s.CheckChanged(session.Runtime, session.Controls, session.Controls.With(message.Model, message.ApprovalPolicy,
		message.NetworkAccess, message.FilesystemSandbox))
}
