package session

// Types of session events for clients of protocols other than /api/stream.
const (
	EventIDResolved = "client.session_id_resolved"
	EventIDFailed   = "client.session_id_failed"
	EventStopped    = "client.session_stopped"
)

// IDNews is the payload of EventIDResolved and EventIDFailed. RealID is "" in EventIDFailed; Reason and Message are ""
// in EventIDResolved.
type IDNews struct {
	TemporaryID string `json:"temporary_id"`
	RealID      string `json:"real_id,omitempty"`
	Runtime     string `json:"runtime"`
	ProjectID   string `json:"project_id"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

// Temporary is the id of a session that is not open yet.
type Temporary struct{ ID, SessionID, Runtime, ProjectID string }
