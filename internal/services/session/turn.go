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
	// Error is why it failed or was interrupted, "" otherwise.
	Error string
	// Kind is the kind of the error, as runtime.TurnCompleted.Kind.
	Kind error
	// Native is the runtime's description of the turn, nil when it gave none.
	Native json.RawMessage
}

// A session's runtime does the following to its conversation. For an unstored session the default runtime is asked by
// its id, and gives the answer. Errors are those of Lookup but ErrNotFound, *NotOwnerError, *runtime.UnsupportedError,
// *FolderError, and the runtime's refusals.

// Forked is a session that was made of another one.
type Forked struct {
	Session Session
	// Thread is the runtime's own description of the new conversation, with its turns.
	Thread json.RawMessage
}

// Sent is the result of a message: the turn it began or joined, or its place in the queue.
type Sent struct {
	TurnID string
	// Steered is true of a message that went into a turn which was already running.
	Steered bool
	// QueuedID is the queued message and Position its place from 1; "" and 0 of a message that was sent.
	QueuedID string
	Position int
}

// PositionOf is the place of a message in a queue, from 1; 0 of one that is not there.
func PositionOf(queue []QueuedMessage, id string) int {
	return slices.IndexFunc(queue, func(one QueuedMessage) bool { return one.ID == id }) + 1
}

// TurnMark is the turns of a session at one time, which distinguish a later turn.
type TurnMark struct {
	Turns int `json:"turns"`
	// Newest is the id of the newest one, "" for none.
	Newest string `json:"newest"`
}

// NotRetryableError refuses to retry a turn. Nothing changed.
type NotRetryableError struct{ SessionID, TurnID, Reason string }

// Error implements error.
func (e *NotRetryableError) Error() string {
	return fmt.Sprintf("turn %s cannot be tried again: %s", e.TurnID, e.Reason)
}

// TurnInput is one message of a turn, as sent to the runtime; its options became the session's controls.
type TurnInput struct {
	Input  []json.RawMessage `json:"input"`
	Effort string            `json:"effort,omitempty"`
	Mode   json.RawMessage   `json:"mode,omitempty"`
}

// StoredInput is the form of a message that is stored with its turn.
func (m Message) StoredInput() string {
	return string(javascript.MustEncode(TurnInput{m.InputParts(), m.Effort, m.CollaborationMode})) + "\n"
}

// InputParts are the text and images of a message in codex's format.
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

// TurnErrorPrefix begins the message id of the entry of a failed turn; the turn's id follows.
const TurnErrorPrefix = "turn-error-"

// TurnRetryPrefix begins the message id of the entry of a turn that cannot reach its model; the turn's id follows.
const TurnRetryPrefix = "turn-retry-"
