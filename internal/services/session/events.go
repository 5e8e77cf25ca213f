package session

// Types of events this package also hears, when another node caused them.
const (
	EventDeleted = "session_deleted"
)

// RemovesEntries tells of a type of event whether entries of its session may be gone.
func RemovesEntries(eventType string) bool {
	return eventType == EventTranscriptPruned || eventType == EventDeleted
}

// EventMessageSent is the type of the event that tells that a message was sent, and with which controls.
const EventMessageSent = "message.sent"

// Types of the package's internal events: kept for the record, shown to no client.
const (
	EventTranscriptPruned = "transcript.pruned"
)

// EventSource names this package in the events it causes itself.
const EventSource = "harness"
