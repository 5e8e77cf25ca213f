package operations

import (
	"errors"
	"strings"

	"harness/internal/services/session"
)

// InvalidError says that a request does not follow the rules of its operation. Nothing was done.
type InvalidError struct{ Problems []Problem }

// Problem is one thing that is wrong with a request.
type Problem struct {
	// Field is the part of the request it is about, as the operation's parameters are called; Index is the element of a
	// list, -1 for none.
	Field   string
	Index   int
	Message string
}

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		texts[i] = problem.Field + ": " + problem.Message
	}
	return strings.Join(texts, "; ")
}

func invalid(field, message string) error {
	return &InvalidError{[]Problem{{Field: field, Index: -1, Message: message}}}
}

// PartsError says that the parts of a change of settings do not go together.
type PartsError struct{ Message string }

// Error implements error.
func (e *PartsError) Error() string { return e.Message }

// LockedError refuses a change of the controls new sessions start with, which the server's configuration sets. It has
// both controls as they are.
type LockedError struct {
	SessionID          string
	Controls, Defaults session.Controls
}

// LockReason is why defaults cannot be edited.
const LockReason = "Managed by harness configuration"

// Error implements error.
func (e *LockedError) Error() string { return "default controls are locked by configuration" }

// UnknownProjectError refuses to put a session into a project that is not there.
type UnknownProjectError struct{ SessionID, ProjectID string }

// Error implements error.
func (e *UnknownProjectError) Error() string { return "project " + e.ProjectID + " is unknown" }

// Sentinels, to be tested with errors.Is.
var (
	// ErrQueueOff: the job queue is switched off.
	ErrQueueOff = errors.New("orchestrator queue is unavailable")
	// ErrMissingSuggestion: a suggestion that is complete has a text.
	ErrMissingSuggestion = errors.New("suggestion is required when status is complete")
)
