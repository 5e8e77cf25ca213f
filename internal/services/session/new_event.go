package session

import (
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/transcript"
)

// EventTranscriptUpdated is the type of the event for a changed transcript entry.
const EventTranscriptUpdated = "transcript_updated"

// EventProjectUpdated is the type of the event for a session that moved to another project.
const EventProjectUpdated = "session_project_updated"

// NewEvent returns an event of one session; systemOwned hides it from clients that do not follow this session by id.
func NewEvent(sessionID, kind string, at int64, systemOwned bool, payload json.RawMessage) journal.Event {
	event := journal.Event{SessionID: sessionID, Type: kind, Time: at, Source: EventSource, Payload: payload}
	if systemOwned {
		event.Meta = stream.EncodeMeta(stream.Meta{SystemOwned: true})
	}
	return event
}

// TranscriptUpdated returns the event of an entry; asSent is the entry in the event's payload.
func TranscriptUpdated(sessionID string, entry *transcript.Entry, at int64, systemOwned bool) (event journal.Event,
	asSent json.RawMessage) {
	payload, from := entry.AppendUpdate(make([]byte, 0, entry.Size()), sessionID)
	event = NewEvent(sessionID, EventTranscriptUpdated, at, systemOwned, payload)
	// Clients choose these ids, and the journal also stores them as columns.
	event.TurnID, event.ItemID = database.EncodeText(entry.TurnID), database.EncodeText(entry.MessageID)
	return event, payload[from : len(payload)-1]
}

// RolledBack is the event that lists the turns that left the transcript, in the order they ran.
func RolledBack(sessionID string, turnIDs []string, at int64, systemOwned bool) journal.Event {
	return NewEvent(sessionID, "session_rolled_back", at, systemOwned, javascript.MustEncode(struct {
		Status    string   `json:"status"`
		SessionID string   `json:"sessionId"`
		TurnIDs   []string `json:"turnIds"`
	}{"ok", sessionID, turnIDs}))
}
