package operations

import (
	"errors"
	"strings"

	"harness/internal/services/session"
)

// InvalidError is a request that violates the rules of its operation. Nothing was done.
type InvalidError struct{ Problems []Problem }

// Problem describes one problem of a request.
type Problem struct {
	// Field is the affected parameter of the operation; Index is the list element, -1 for none.
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

// PartsError refuses a change of settings with an invalid combination of parts.
type PartsError struct{ Message string }

// Error implements error.
func (e *PartsError) Error() string { return e.Message }

// LockedError refuses a change of the defaults of new sessions, which the configuration sets. It has the current
// controls and defaults.
type LockedError struct {
	SessionID          string
	Controls, Defaults session.Controls
}

// LockReason explains why defaults cannot be edited.
const LockReason = "Managed by harness configuration"

// Error implements error.
func (e *LockedError) Error() string { return "default controls are locked by configuration" }

// UnknownProjectError refuses to assign a session to an unknown project.
type UnknownProjectError struct{ SessionID, ProjectID string }

// Error implements error.
func (e *UnknownProjectError) Error() string { return "project " + e.ProjectID + " is unknown" }

// Sentinels, to be tested with errors.Is.
var (
	// ErrQueueOff: the job queue is disabled.
	ErrQueueOff = errors.New("orchestrator queue is unavailable")
	// ErrMissingSuggestion: a complete suggestion requires a text.
	ErrMissingSuggestion = errors.New("suggestion is required when status is complete")
)
