package takeover

import (
	"cmp"
	"sync"

	"harness/internal/lib/wake"
)

// EndedTurns is a list of sessions of which something is to be stored, each with the turn that ended last ("" for none).
type EndedTurns struct {
	mu  sync.Mutex
	due map[string]string
	// Wake is signaled when something is to be stored.
	Wake wake.Signal
}

// NewEndedTurns makes an empty list.
func NewEndedTurns() *EndedTurns {
	return &EndedTurns{due: map[string]string{}, Wake: wake.New()}
}

// Want has something of a session stored.
func (e *EndedTurns) Want(sessionID, endedTurn string) {
	e.mu.Lock()
	e.due[sessionID] = cmp.Or(endedTurn, e.due[sessionID])
	e.mu.Unlock()
	e.Signal()
}

// WantAgain puts back what could not be stored, unless there is something newer, and wakes no one.
func (e *EndedTurns) WantAgain(sessionID, endedTurn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due[sessionID] = cmp.Or(e.due[sessionID], endedTurn)
}

// Signal has the caller that stores look.
func (e *EndedTurns) Signal() {
	e.Wake.Set()
}

// Take empties the list.
func (e *EndedTurns) Take() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := e.due
	e.due = map[string]string{}
	return due
}
