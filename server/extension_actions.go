package server

import (
	"cmp"
	"context"
	"sync"

	"harness/internal/services/session/manager"
)

// maxOwnership is the maximum number of sessions whose ownership is cached.
const maxOwnership = 10_000

// ownership caches which sessions belong to this node, because every signal needs it.
type ownership struct {
	sessions *manager.Service
	mu       sync.Mutex
	known    map[string]bool
	moved    int64 // Service.Moved when the first entry was read
}

func newOwnership(sessions *manager.Service) *ownership {
	return &ownership{sessions: sessions, known: map[string]bool{}}
}

func (o *ownership) owns(ctx context.Context, sessionID string) (bool, error) {
	moved := o.sessions.Moved.Load()
	o.mu.Lock()
	if o.moved != moved {
		clear(o.known)
		o.moved = moved
	}
	owns, known := o.known[sessionID]
	o.mu.Unlock()
	if known {
		return owns, nil
	}
	found, err := o.sessions.Conversations.Lookup(ctx, sessionID)
	if gone(err) {
		return true, nil // its last events are for all nodes
	}
	if err != nil {
		return false, err
	}
	owns = o.sessions.Ownership.Owns(found)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxOwnership {
		clear(o.known)
	}
	if o.moved == moved { // otherwise the result may predate the move
		o.known[sessionID] = owns
	}
	return owns, nil
}

// reads delays the rows that extensions and agents read until those rows are as durable as an acknowledged write, as
// api does for clients. *journal.Journal implements it. A reader waits until its context ends.
type reads interface {
	Reading(ctx context.Context) context.Context
	Settled(ctx context.Context) error
}

// settled returns the result or the error of a read, once it is durable.
func settled[T any](ctx context.Context, r reads, read func(ctx context.Context) (T, error)) (T, error) {
	ctx = r.Reading(ctx)
	found, err := read(ctx)
	if unsettled := r.Settled(ctx); unsettled != nil {
		var none T
		return none, unsettled
	}
	return found, err
}

// done returns the result of a change. The reads of a successful change were committed before it; an error reveals its
// reads, so done delays it.
func done(ctx context.Context, r reads, change func(ctx context.Context) error) error {
	ctx = r.Reading(ctx)
	if err := change(ctx); err != nil {
		return cmp.Or(r.Settled(ctx), err)
	}
	return nil
}
