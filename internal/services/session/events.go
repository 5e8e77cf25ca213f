package session

// Types of events that this package also receives from other nodes.
const (
	EventDeleted = "session_deleted"
)

// RemovesEntries reports whether events of a type may remove entries of their session.
func RemovesEntries(eventType string) bool {
	return eventType == EventTranscriptPruned || eventType == EventDeleted
}

// EventMessageSent is the type of the event of a sent message and its controls.
const EventMessageSent = "message.sent"

// Types of the package's internal events: stored, and sent to no client.
const (
	EventTranscriptPruned = "transcript.pruned"
)

// EventSource names this package in the events that it causes itself.
const EventSource = "harness"
