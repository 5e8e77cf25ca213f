package session

import (
	"encoding/json"

	"harness/transcript"
)

// Figures are what a list can show of a session beside what goes on in it.
type Figures struct {
	// Plan is the runtime's last plan, {"turnId","explanation","plan"}, Usage what it used, {"total","last",
	// "modelContextWindow"} in tokens, both in the words of wire; nil when it sent none.
	Plan, Usage json.RawMessage
	// LastEntryAt is the time (ms) of the transcript's last entry, 0 when it has none.
	LastEntryAt int64
	// ReadTo is the entry up to which the reader who asks has read, "" for none, Unread that there is something behind it.
	ReadTo string
	Unread bool
}

// TranscriptPage is a stretch of a session's transcript that is found by counting, and how many entries there are.
type TranscriptPage struct {
	Entries []transcript.Entry
	Total   int64
}

// Chunks takes a whole read while it is made, so that none has to be in memory whole. An error of it ends the read.
type Chunks interface {
	// Entries takes the next entries of the transcript: JSON with commas between, gone when it returns.
	Entries(encoded []byte) error
	// Item takes the next item of a turn as the runtime describes it: JSON. Turns are numbered as in Detail.Thread.
	Item(turn int, encoded []byte) error
}

// ImagePath is where an image of a session is read.
func ImagePath(sessionID, imageID string) string {
	return "/api/sessions/" + sessionID + "/images/" + imageID
}
