package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/lib/javascript"
)

// WaitingState is how a message stands that waits for its session's turn to end.
type WaitingState string

// The states of a waiting message. One that is held keeps those behind it waiting until a client edits, sends or drops
// it.
const (
	WaitingQueued  WaitingState = "queued"
	WaitingSending WaitingState = "sending"
	WaitingHeld    WaitingState = "held"
)

// Waiting is a message that is sent when the turns before it have ended.
type Waiting struct {
	ID        string
	SessionID string
	Text      string
	Images    int
	State     WaitingState
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

// MaxWaiting is how many messages may wait in one session.
const MaxWaiting = 100

// Errors of waiting messages.
var (
	// ErrWaitingNotFound: no message of that id waits in the session (any more).
	ErrWaitingNotFound = errors.New("no such message waits in this session")
	// ErrWaitingSent: the message is being sent to the runtime.
	ErrWaitingSent = errors.New("the message is being sent")
	// ErrWaitingDamaged: what the message says is not known.
	ErrWaitingDamaged = errors.New("the message is damaged in the database of the server; drop it, and write it again")
	// ErrWaitingFull: as many messages wait as may.
	ErrWaitingFull = fmt.Errorf("%d messages wait in this session; send or drop one first", MaxWaiting)
)

// Encode is a waiting message as clients see it, in frames and answers alike.
func (w Waiting) Encode() json.RawMessage {
	return javascript.MustEncode(struct {
		ID        string       `json:"id"`
		Text      string       `json:"text"`
		Images    int          `json:"images"`
		State     WaitingState `json:"state"`
		Error     *string      `json:"error"`
		CreatedAt string       `json:"createdAt"`
	}{w.ID, w.Text, w.Images, w.State, orNil(w.Error), javascript.ISOTime(w.CreatedAt)})
}

// MarshalJSON is the message as clients see it.
func (w Waiting) MarshalJSON() ([]byte, error) { return w.Encode(), nil }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
