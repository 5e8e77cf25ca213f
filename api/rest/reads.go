package rest

import "context"

// Reads keeps what is read of rows from being shown before it survives what an acknowledged write does.
type Reads interface {
	// Reading is a context whose reads Settled waits for.
	Reading(ctx context.Context) context.Context
	// Settled returns when what was read with the context may be shown; an error says why it may not.
	Settled(ctx context.Context) error
}
