package operations

import (
	"context"

	"harness/internal/services/session/rewind"
)

// RewindStore rewinds sessions.
type RewindStore interface {
	Rewind(ctx context.Context, sessionID string, in rewind.Request) (rewind.Result, error)
}

// Rewinds takes sessions back to before a turn.
type Rewinds struct {
	access *Access
	store  RewindStore
}

// Rewind takes the files and the conversation of a session back to before a turn, or undoes the last rewind.
// *InvalidError unless it names exactly one of both, and something to rewind.
func (s *Rewinds) Rewind(ctx context.Context, sessionID string, in rewind.Request) (rewind.Result, error) {
	if err := s.access.Check(ctx, Rewind, sessionID); err != nil {
		return rewind.Result{}, err
	}
	switch {
	case (in.TurnID == "") == (in.Undo == ""):
		return rewind.Result{}, invalid("turnId", "Required, unless undo names a rewind")
	case in.Undo == "" && !in.Files && !in.Conversation:
		return rewind.Result{}, invalid("files", "Either files or conversation must be true")
	}
	return s.store.Rewind(ctx, sessionID, in)
}
