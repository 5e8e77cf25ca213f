package server

import (
	"cmp"
	"context"
	"sync"

	"harness/internal/services/session/manager"
)

// maxOwnership is of how many sessions it is remembered whose they are.
const maxOwnership = 10_000

// ownership remembers which sessions are this node's: they are needed for every signal.
type ownership struct {
	sessions *manager.Service
	mu       sync.Mutex
	known    map[string]bool
	moved    int64 // Service.Moved when the first of them was read
}

func newOwnership(sessions *manager.Service) *ownership {
	return &ownership{sessions: sessions, known: map[string]bool{}}
}

func (o *ownership) owns(ctx context.Context, sessionID string) (bool, error) {
	moved := o.sessions.Moved()
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
	found, err := o.sessions.Lookup(ctx, sessionID)
	if gone(err) {
		return true, nil // its last events are for all nodes
	}
	if err != nil {
		return false, err
	}
	owns = o.sessions.Owns(found)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) >= maxOwnership {
		clear(o.known)
	}
	if o.moved == moved { // else it may be of before
		o.known[sessionID] = owns
	}
	return owns, nil
}

// reads delays what extensions and agents are shown of rows until it survives what an acknowledged write does,
// as api does for clients; *journal.Journal implements it. They wait for as long as their contexts let them.
type reads interface {
	Reading(ctx context.Context) context.Context
	Settled(ctx context.Context) error
}

// settled returns the result or the error of a read, once it may be shown.
func settled[T any](ctx context.Context, r reads, read func(ctx context.Context) (T, error)) (T, error) {
	ctx = r.Reading(ctx)
	found, err := read(ctx)
	if unsettled := r.Settled(ctx); unsettled != nil {
		var none T
		return none, unsettled
	}
	return found, err
}

// done returns the result of a change: its reads were committed before it, and a refusal reveals them.
func done(ctx context.Context, r reads, change func(ctx context.Context) error) error {
	ctx = r.Reading(ctx)
	if err := change(ctx); err != nil {
		return cmp.Or(r.Settled(ctx), err)
	}
	return nil
}
