package main

import (
	"context"
	"sync"

	"harness/session"
)

// maxOwnership is of how many sessions it is remembered whose they are.
const maxOwnership = 10_000

// ownership remembers which sessions are this node's: whoever asks does so for every signal, and a session gets another
// owner only when a server starts.
type ownership struct {
	sessions *session.Service
	mu       sync.Mutex
	known    map[string]bool
}

func newOwnership(sessions *session.Service) *ownership {
	return &ownership{sessions: sessions, known: map[string]bool{}}
}

func (o *ownership) owns(ctx context.Context, sessionID string) (bool, error) {
	o.mu.Lock()
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
	o.known[sessionID] = owns
	return owns, nil
}
