package rest

import "context"

// Reads prevents a response from showing rows before they are as durable as an acknowledged write.
type Reads interface {
	// Reading returns a context that records reads for Settled.
	Reading(ctx context.Context) context.Context
	// Settled waits until everything read with the context may be shown. An error is the reason why it may not.
	Settled(ctx context.Context) error
}
