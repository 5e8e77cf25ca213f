package session

import (
	"encoding/json"

	"harness/transcript/window"
)

// EventRestored is the type of the journal's event that a runtime which has lost a conversation is sent it again, with
// the message that comes next; its dot keeps it from clients of the stream. The payload is a Restored.
const EventRestored = "session.restored"

// Restored is what a runtime is notified of a conversation it has lost.
type Restored struct {
	// Messages counts those that were sent.
	Messages int `json:"messages"`
	// InputRef refers to what was sent, null when it is not kept.
	InputRef json.RawMessage `json:"input_ref,omitempty"`
	Window   window.Window   `json:"context_window"`
}
