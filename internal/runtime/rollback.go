package runtime

import (
	"encoding/json"
	"fmt"
)

// RolledBack is the result of removing turns.
type RolledBack struct {
	// Turns are the ids of the removed turns, newest first.
	Turns []string
	// Result is the runtime's own answer.
	Result json.RawMessage
}

// TooFewTurnsError means that a conversation has fewer turns than requested. The runtime removed none.
type TooFewTurnsError struct{ Have int }

// Error implements error.
func (e *TooFewTurnsError) Error() string {
	return fmt.Sprintf("The session has only %d turns", e.Have)
}
