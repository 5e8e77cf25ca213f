// Package transcript owns the entries of a session's transcript: it merges upserts and assembles what a client reads.
//
// It must never know a runtime's formats (the adapter converts items to entries) nor how a change reaches clients.
package transcript

// Status is the state of an entry.
type Status string

// The states of an entry. All except Streaming are final.
const (
	Streaming Status = "streaming"
	Complete  Status = "complete"
	Canceled  Status = "canceled"
	Failed    Status = "error"
)

// Entry is one line of a transcript, with the member order and spelling of the wire. Times are in ms.
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
	// DetailsBytes is the length of details that OmitDetails removed, 0 if it removed none.
	DetailsBytes int `json:"detailsBytes,omitempty"`
	// Cut means that Content is only the beginning (Window.Beginning). Do not store such an entry.
	Cut bool `json:"-"`
	// Source replaces texts that are too long to hold in memory twice, nil if there are none. Whole restores them.
	Source *Source `json:"-"`
}
