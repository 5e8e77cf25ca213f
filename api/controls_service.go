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

// ControlEdit is one change of controls.
type ControlEdit struct {
	Defaults bool
	Edit     func(session.Controls) session.Controls
	// Audit says who changes and through what; nil leaves no entry in the transcript.
	Audit *ControlAudit
}

// ControlAudit is the provenance of a change, as clients give it.
type ControlAudit struct{ Actor, Source string }

// ControlChange is the outcome of an edit.
type ControlChange struct {
	Controls, Defaults session.Controls
	Changed            bool
}

// lockReason is why defaults cannot be edited, in the words clients know.
const lockReason = "Managed by harness configuration"

// lockedError refuses a change of locked defaults (423); body is what the route shows beside.
type lockedError struct{ body any }

func (e *lockedError) Error() string { return "default controls are locked by configuration" }
