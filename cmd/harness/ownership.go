package main

import (
	"context"
	"sync"

	"harness/internal/services/session/manager"
)

// maxOwnership is of how many sessions it is remembered whose they are.
const maxOwnership = 10_000

// ownership remembers which sessions are this node's: whoever asks does so for every signal.
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
		return true, nil // what is told of it still is the matter of whoever hears of it
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
