package api

import (
	"context"

	"harness/session"
)

// The scopes of controls and settings.
const (
	scopeSession = "session"
	scopeDefault = "default"
)

// ControlStore is what the routes about controls and settings need of the session room. It is apart from Sessions so that a server without
// it still serves the rest.
type ControlStore interface {
	// Controls reads a session's controls and those new sessions start with.
	Controls(ctx context.Context, sessionID string) (session.Controls, session.Controls, error)
	// EditControls replaces the session's controls, or with defaults set those of new sessions, by what edit makes of them, in one step:
	// nothing changes between the value edit is given and the write. Equal controls (settings compared as JSON values, whatever their
	// members' order) change nothing and write nothing. With an audit a change is also told by an entry in the transcript of the session,
	// whichever the scope. It returns both controls as they are afterwards and whether anything changed.
	EditControls(ctx context.Context, sessionID string, edit ControlEdit) (ControlChange, error)
}

// What an edit is, and what comes of it, are the session room's words.
type (
	// ControlEdit is one change of controls.
	ControlEdit = session.ControlEdit
	// ControlAudit is the provenance of a change, as clients give it.
	ControlAudit = session.ControlAudit
	// ControlChange is the outcome of an edit.
	ControlChange = session.ControlChange
)

// lockReason is why defaults cannot be edited, in the words clients know.
const lockReason = "Managed by harness configuration"

// lockedError refuses a change of locked defaults (423); body is what the route shows beside.
type lockedError struct{ body any }

func (e *lockedError) Error() string { return "default controls are locked by configuration" }
