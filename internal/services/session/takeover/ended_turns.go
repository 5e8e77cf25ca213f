package takeover

import (
	"cmp"
	"sync"
)

// EndedTurns is a list of sessions to store, each with the turn that ended last ("" for none).
type EndedTurns struct {
	mu  sync.Mutex
	due map[string]string
	// Wake is signaled when the list is not empty.
	Wake chan struct{}
}

// NewEndedTurns makes an empty list.
func NewEndedTurns() *EndedTurns {
	return &EndedTurns{due: map[string]string{}, Wake: make(chan struct{}, 1)}
}

// Want adds a session to store.
func (e *EndedTurns) Want(sessionID, endedTurn string) {
	e.mu.Lock()
	e.due[sessionID] = cmp.Or(endedTurn, e.due[sessionID])
	e.mu.Unlock()
	e.Signal()
}

// WantAgain returns a session that could not be stored, unless a newer entry exists, and sends no signal.
func (e *EndedTurns) WantAgain(sessionID, endedTurn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due[sessionID] = cmp.Or(e.due[sessionID], endedTurn)
}

// Signal wakes the caller that stores.
func (e *EndedTurns) Signal() {
	select {
	case e.Wake <- struct{}{}:
	default:
	}
}

// Take empties the list.
func (e *EndedTurns) Take() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := e.due
	e.due = map[string]string{}
	return due
}
