package rest

import (
	"context"

	"harness/api/calls"
)

// Note collects data about a request for the access log, except the log's first line.
type Note struct {
	SessionID, TurnID string
	// Route is the route of the request, "" if none matched.
	Route string
	Err   error
}

type noteKey struct{}

// WithNote returns a context that collects notes.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// NoteOf returns the note of a request; without one, notes are discarded.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// NoteSession notes the session of a request, also for the audit log.
func NoteSession(ctx context.Context, id string) {
	NoteOf(ctx).SessionID = id
	calls.About(ctx, id, "")
}

// NoteTurn notes the turn of a request.
func NoteTurn(ctx context.Context, id string) { NoteOf(ctx).TurnID = id }

// NoteError notes why a request was refused.
func NoteError(ctx context.Context, err error) { NoteOf(ctx).Err = err }
