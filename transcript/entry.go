// Package transcript owns the entries of a session's transcript: upsert with merge, and the assembly of what a client
// reads.
//
// It must never know a runtime's formats (the adapter makes entries of items) nor how a change reaches
// clients.
package transcript

// Status is the state of an entry.
type Status string

// The states of an entry. Streaming is the only one that is not final.
const (
	Streaming Status = "streaming"
	Complete  Status = "complete"
	Canceled  Status = "canceled"
	Failed    Status = "error"
)

// Entry is one line of a transcript, in the order and spelling of the wire.
// Times are in ms.
type Entry struct {
	MessageID   string  `json:"messageId"`
	TurnID      string  `json:"turnId"`
	Role        string  `json:"role"`
	Type        string  `json:"type"`
	Content     string  `json:"content"`
	Details     *string `json:"details,omitempty"`
	StartedAt   *int64  `json:"startedAt,omitempty"`
	CompletedAt *int64  `json:"completedAt,omitempty"`
	Status      Status  `json:"status"`
	// DetailsBytes is how long the details are that were left out (OmitDetails), 0 when none were.
	DetailsBytes int `json:"detailsBytes,omitempty"`
	// Source stands in for texts that are too long to be held twice, nil when there is none. Whole puts them in.
	Source *Source `json:"-"`
}
