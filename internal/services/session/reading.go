package session

import (
	"encoding/json"

	"harness/transcript"
)

// Figures are additional data of a session for lists.
type Figures struct {
	// Plan is the runtime's last plan, {"turnId","explanation","plan"}; Usage its token usage, {"total","last",
	// "modelContextWindow"}. Both are in the format of wire, nil if the runtime reported none.
	Plan, Usage json.RawMessage
	// LastEntryAt is the time (ms) of the transcript's last entry, 0 when it has none.
	LastEntryAt int64
	// ReadTo is the last entry the requesting reader has read, "" for none. Unread says that later entries exist.
	ReadTo string
	Unread bool
}

// TranscriptPage is a stretch of a session's transcript that is found by counting, and how many entries there are.
type TranscriptPage struct {
	Entries []transcript.Entry
	Total   int64
}

// Chunks receives a whole read in parts, so that no reader has all of it in memory. Its error ends the read.
type Chunks interface {
	// Entries receives the next entries of the transcript: JSON with commas between, valid until it returns.
	Entries(encoded []byte) error
	// Item receives the next item of a turn as the runtime describes it: JSON. Turns are numbered as in Detail.Thread.
	Item(turn int, encoded []byte) error
}

// ImagePath is the path of a session's image.
func ImagePath(sessionID, imageID string) string {
	return "/api/sessions/" + sessionID + "/images/" + imageID
}
