package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
)

// QueuedState is the state of a message that waits for its session's turn to end.
type QueuedState string

// The states of a queued message. A held message blocks the messages behind it until a client edits, sends or drops
// it.
const (
	QueuedReady   QueuedState = "queued"
	QueuedSending QueuedState = "sending"
	QueuedHeld    QueuedState = "held"
)

// QueuedMessage is a message that the server sends when all earlier turns have ended.
type QueuedMessage struct {
	ID        string
	SessionID string
	Text      string
	Images    int
	State     QueuedState
	// Error is the reason the message is held, "" otherwise.
	Error string
	// CreatedAt is in ms.
	CreatedAt int64
	Position  int64
	Marker    string
	Content   QueuedContent
	Damaged   bool // its content is unreadable
}

// QueuedContent is the part of a Message that is stored until the message is sent.
type QueuedContent struct {
	Text string `json:"text"`
	// Images are the images as the client named them. Uploaded images are read when the message is sent.
	Images            []string `json:"images,omitempty"`
	Model             *string  `json:"model,omitempty"`
	Effort            string   `json:"effort,omitempty"`
	ApprovalPolicy    *string  `json:"approvalPolicy,omitempty"`
	NetworkAccess     *string  `json:"networkAccess,omitempty"`
	FilesystemSandbox *string  `json:"filesystemSandbox,omitempty"`
	Author            Author   `json:"author,omitzero"`
	// Trace is the trace of the request that queued the message, as Trace.String encodes it.
	Trace string `json:"trace,omitempty"`
}

// MaxQueued is the maximum number of queued messages per session.
const MaxQueued = 100

// Errors of queued messages.
var (
	// ErrQueuedNotFound means that the session's queue has no message with that id.
	ErrQueuedNotFound = errors.New("no such message waits in this session")
	// ErrQueuedSent means that the message is being sent to the runtime.
	ErrQueuedSent = errors.New("the message is being sent")
	// ErrQueuedDamaged means that the message's content is unreadable.
	ErrQueuedDamaged = errors.New("the message is damaged in the database of the server; drop it, and write it again")
	// ErrQueueFull means that the session's queue is full.
	ErrQueueFull = fmt.Errorf("%d messages wait in this session; send or drop one first", MaxQueued)
)

// Encode encodes a queued message for clients, in frames and in answers.
func (w QueuedMessage) Encode() json.RawMessage {
	return javascript.MustEncode(struct {
		ID        string      `json:"id"`
		Text      string      `json:"text"`
		Images    int         `json:"images"`
		State     QueuedState `json:"state"`
		Error     *string     `json:"error"`
		CreatedAt string      `json:"createdAt"`
	}{w.ID, w.Text, w.Images, w.State, orNil(w.Error), javascript.ISOTime(w.CreatedAt)})
}

// MarshalJSON encodes the message for clients.
func (w QueuedMessage) MarshalJSON() ([]byte, error) { return w.Encode(), nil }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
