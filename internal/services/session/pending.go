package session

// Types of events about sessions that clients of other protocols than /api/stream are sent.
const (
	EventIDResolved = "client.session_id_resolved"
	EventIDFailed   = "client.session_id_failed"
	EventStopped    = "client.session_stopped"
)

// IDNews is the payload of EventIDResolved and EventIDFailed; RealID is "" in the latter, Reason and Message in the
// former.
type IDNews struct {
	TemporaryID string `json:"temporary_id"`
	RealID      string `json:"real_id,omitempty"`
	Runtime     string `json:"runtime"`
	ProjectID   string `json:"project_id"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

// Temporary is an id given out for a session that is still to be opened.
type Temporary struct{ ID, SessionID, Runtime, ProjectID string }
