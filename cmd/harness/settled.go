package main

import (
	"cmp"
	"context"
)

// reads keeps what extensions and agents are told of rows from them before it survives what an acknowledged write does,
// as api does for clients; *journal.Journal implements it. They wait for as long as their contexts let them.
type reads interface {
	Reading(ctx context.Context) context.Context
	Settled(ctx context.Context) error
}

// settled is what was read, once it may be told; so may be why nothing was.
func settled[T any](ctx context.Context, r reads, read func(ctx context.Context) (T, error)) (T, error) {
	ctx = r.Reading(ctx)
	found, err := read(ctx)
	if unsettled := r.Settled(ctx); unsettled != nil {
		var none T
		return none, unsettled
	}
	return found, err
}

// done is what became of a change: it was committed after whatever it had read, and a refusal tells of that.
func done(ctx context.Context, r reads, change func(ctx context.Context) error) error {
	ctx = r.Reading(ctx)
	if err := change(ctx); err != nil {
		return cmp.Or(r.Settled(ctx), err)
	}
	return nil
}
