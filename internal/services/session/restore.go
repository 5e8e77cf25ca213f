package session

import (
	"encoding/json"

	"harness/transcript/window"
)

// EventRestored is the type of the event for a replayed conversation that a runtime had lost. The next message
// contains the replay. The dot in the type hides it from stream clients. The payload is a Restored.
const EventRestored = "session.restored"

// Restored describes the replay of a lost conversation.
type Restored struct {
	// Messages counts the replayed messages.
	Messages int `json:"messages"`
	// InputRef refers to the stored replay, null if it is not stored.
	InputRef json.RawMessage `json:"input_ref,omitempty"`
	Window   window.Window   `json:"context_window"`
}
