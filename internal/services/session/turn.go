package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

// TurnState is the state of a turn.
type TurnState struct {
	Status runtime.TurnStatus
	// Error is why the turn failed or was interrupted, "" otherwise.
	Error string
	// Kind is the kind of the error, as in runtime.TurnCompleted.Kind.
	Kind error
	// Native is the runtime's description of the turn, nil if it gave none.
	Native json.RawMessage
}

// The following types describe what a runtime does to a session's conversation. For a session that is not stored, the
// default runtime is asked by id and answers. Errors are those of Lookup except ErrNotFound, and *NotOwnerError,
// *runtime.UnsupportedError, *FolderError and the runtime's refusals.

// Forked is a session that was forked from another one.
type Forked struct {
	Session Session
	// Thread is the runtime's description of the new conversation, with its turns.
	Thread json.RawMessage
}

// Sent is the result of a message: the turn it started or joined, or its position in the queue.
type Sent struct {
	TurnID string
	// Steered reports that the message joined a turn that was already running.
	Steered bool
	// QueuedID is the queued message and Position its position from 1; "" and 0 for a message that was sent.
	QueuedID string
	Position int
}

// PositionOf returns the position of a message in a queue, from 1; 0 if the queue does not have it.
func PositionOf(queue []QueuedMessage, id string) int {
	return slices.IndexFunc(queue, func(one QueuedMessage) bool { return one.ID == id }) + 1
}

// TurnMark captures the turns of a session at one time, to detect later turns.
type TurnMark struct {
	Turns int `json:"turns"`
	// Newest is the id of the newest turn, "" for none.
	Newest string `json:"newest"`
}

// NotRetryableError refuses to retry a turn. Nothing changed.
type NotRetryableError struct{ SessionID, TurnID, Reason string }

// Error implements error.
func (e *NotRetryableError) Error() string {
	return fmt.Sprintf("turn %s cannot be tried again: %s", e.TurnID, e.Reason)
}

// TurnInput is one message of a turn, as sent to the runtime. Its options are stored as the session's controls.
type TurnInput struct {
	Input  []json.RawMessage `json:"input"`
	Effort string            `json:"effort,omitempty"`
	Mode   json.RawMessage   `json:"mode,omitempty"`
}

// StoredInput encodes a message for storage with its turn.
func (m Message) StoredInput() string {
	return string(javascript.MustEncode(TurnInput{m.InputParts(), m.Effort, m.CollaborationMode})) + "\n"
}

// InputParts returns the text and images of a message in codex's format.
func (m Message) InputParts() []json.RawMessage {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		URL  string `json:"url,omitempty"`
	}
	var parts []json.RawMessage
	if m.Text != "" {
		parts = append(parts, javascript.MustEncode(part{Type: "text", Text: m.Text}))
	}
	for _, url := range m.Images {
		parts = append(parts, javascript.MustEncode(part{Type: "image", URL: url}))
	}
	return append(parts, m.Input...)
}

// EntryTurnStopped is the type of the entry that records who stopped a turn, and when.
const EntryTurnStopped = "turn.stopped"

// TurnErrorPrefix starts the message id of a failed turn's entry; the turn's id follows.
const TurnErrorPrefix = "turn-error-"

// TurnRetryPrefix starts the message id of the entry for a turn that cannot reach its model; the turn's id follows.
const TurnRetryPrefix = "turn-retry-"
