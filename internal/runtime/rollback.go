package runtime

import (
	"encoding/json"
	"fmt"
)

// RolledBack is what taking back turns came to.
type RolledBack struct {
	// Turns are the ids of the turns that are gone, newest first.
	Turns []string
	// Result is the runtime's own answer.
	Result json.RawMessage
}

// TooFewTurnsError says that a conversation has fewer turns than were to be taken back. Nothing was.
type TooFewTurnsError struct{ Have int }

// Error implements error.
func (e *TooFewTurnsError) Error() string {
	return fmt.Sprintf("The session has only %d turns", e.Have)
}
