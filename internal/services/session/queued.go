package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
)

// QueuedState is how a message stands that waits for its session's turn to end.
type QueuedState string

// The states of a queued message. One that is held keeps those behind it waiting until a client edits, sends or drops
// it.
const (
	QueuedReady   QueuedState = "queued"
	QueuedSending QueuedState = "sending"
	QueuedHeld    QueuedState = "held"
)

// QueuedMessage is a message that is sent when the turns before it have ended.
type QueuedMessage struct {
	ID        string
	SessionID string
	Text      string
	Images    int
	State     QueuedState
	// Error is why it is held, "" when it is not.
	Error string
	// CreatedAt is in ms.
	CreatedAt int64
	Position  int64
	Marker    string
	Content   QueuedContent
	Damaged   bool // what it says is not known
}

// QueuedContent is what is kept of a Message until it is sent.
type QueuedContent struct {
	Text string `json:"text"`
	// Images are as the client named them: pictures that were uploaded are read when they are sent.
	Images            []string `json:"images,omitempty"`
	Model             *string  `json:"model,omitempty"`
	Effort            string   `json:"effort,omitempty"`
	ApprovalPolicy    *string  `json:"approvalPolicy,omitempty"`
	NetworkAccess     *string  `json:"networkAccess,omitempty"`
	FilesystemSandbox *string  `json:"filesystemSandbox,omitempty"`
	// Trace is that of the request it came with, as trace.stored.
	Trace string `json:"trace,omitempty"`
}

// MaxQueued is how many messages may wait in one session.
const MaxQueued = 100

// Errors of queued messages.
var (
	// ErrQueuedNotFound: no message of that id waits in the session (any more).
	ErrQueuedNotFound = errors.New("no such message waits in this session")
	// ErrQueuedSent: the message is being sent to the runtime.
	ErrQueuedSent = errors.New("the message is being sent")
	// ErrQueuedDamaged: what the message says is not known.
	ErrQueuedDamaged = errors.New("the message is damaged in the database of the server; drop it, and write it again")
	// ErrQueueFull: as many messages wait as may.
	ErrQueueFull = fmt.Errorf("%d messages wait in this session; send or drop one first", MaxQueued)
)

// Encode is a queued message as clients see it, in frames and answers alike.
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

// MarshalJSON is the message as clients see it.
func (w QueuedMessage) MarshalJSON() ([]byte, error) { return w.Encode(), nil }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
