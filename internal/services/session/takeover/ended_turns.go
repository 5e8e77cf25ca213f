package takeover

import (
	"cmp"
	"sync"

	"harness/internal/lib/wake"
)

// EndedTurns is a list of sessions to store, each with the turn that ended last ("" for none).
type EndedTurns struct {
	mu  sync.Mutex
	due map[string]string
	// Wake is signaled when the list is not empty.
	Wake wake.Signal
}

// NewEndedTurns makes an empty list.
func NewEndedTurns() *EndedTurns {
	return &EndedTurns{due: map[string]string{}, Wake: wake.New()}
}

// Want adds a session to store.
func (e *EndedTurns) Want(sessionID, endedTurn string) {
	e.mu.Lock()
	e.due[sessionID] = cmp.Or(endedTurn, e.due[sessionID])
	e.mu.Unlock()
	e.Wake.Set()
}

// WantAgain puts back a session that could not be stored, unless a newer entry exists; it sends no signal.
func (e *EndedTurns) WantAgain(sessionID, endedTurn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due[sessionID] = cmp.Or(e.due[sessionID], endedTurn)
}

// Take returns and clears the list.
func (e *EndedTurns) Take() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := e.due
	e.due = map[string]string{}
	return due
}
