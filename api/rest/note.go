package rest

import (
	"context"

	"harness/api/calls"
)

// Note collects what the access log says of a request beside its head.
type Note struct {
	SessionID, TurnID string
	// Route is that of the request, "" when none matched.
	Route string
	Err   error
}

type noteKey struct{}

// WithNote is a context whose request is noted.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// NoteOf is the note of a request; without one, what is noted is lost.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// NoteSession notes the session a request is about, for the audit log, too.
func NoteSession(ctx context.Context, id string) {
	NoteOf(ctx).SessionID = id
	calls.About(ctx, id, "")
}

// NoteTurn notes the turn a request is about.
func NoteTurn(ctx context.Context, id string) { NoteOf(ctx).TurnID = id }

// NoteError notes why a request was refused.
func NoteError(ctx context.Context, err error) { NoteOf(ctx).Err = err }
