package session

// Types of events that this package also receives from other nodes.
const (
	EventDeleted = "session_deleted"
)

// RemovesEntries reports whether events of a type may remove entries from their session.
func RemovesEntries(eventType string) bool {
	return eventType == EventTranscriptPruned || eventType == EventDeleted
}

// EventMessageSent is the type of the event that records a sent message and its controls.
const EventMessageSent = "message.sent"

// Types of the package's internal events: they are stored, and no client receives them.
const (
	EventTranscriptPruned = "transcript.pruned"
	// EventControlsChanged is the type of the event for changed controls of a session.
	EventControlsChanged = "session.controls_changed"
)

// EventSource names this package as the source of events.
const EventSource = "harness"
