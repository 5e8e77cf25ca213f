package session

import (
	"encoding/json"

	"harness/transcript"
)

// Figures is additional session data for lists.
type Figures struct {
	// Plan is the last plan the runtime reported: {"turnId","explanation","plan"}. Usage is its token usage:
	// {"total","last","modelContextWindow"}. Both use the formats of package wire, and are nil if the runtime reported
	// none.
	Plan, Usage json.RawMessage
	// LastEntryAt is the time (ms) of the transcript's last entry, 0 if it has none.
	LastEntryAt int64
	// ReadTo is the last entry the requesting reader has read, "" for none. Unread reports that later entries exist.
	ReadTo string
	Unread bool
	// Line is what happens now, nil for nothing. Branch is that of the folder, "" for none or if this server does not
	// have the folder.
	Line   *Line
	Branch string
}

// LineKind is a kind of Line.
type LineKind string

// The kinds of lines. The first four wait for a user.
const (
	LineApproval LineKind = "approval"
	LineEdit     LineKind = "edit" // an approval of changes; the text is the first file with its counts
	LineQuestion LineKind = "question"
	LineTool     LineKind = "tool"
	LineRunning  LineKind = "running" // a command or tool
	LineEditing  LineKind = "editing"
	LineRetrying LineKind = "retrying"
	LineFailed   LineKind = "failed"
)

// Line is what happens in a session now.
type Line struct {
	Kind LineKind `json:"kind"`
	Text string   `json:"text"`
	// At is since when, in ms, 0 if unknown.
	At int64 `json:"at,omitempty"`
}

// TranscriptPage is a range of a session's transcript, selected by offset, and the total number of entries.
type TranscriptPage struct {
	Entries []transcript.Entry
	Total   int64
}

// Chunks receives a full read in parts, so that no reader holds all of it in memory. An error from it ends the read.
type Chunks interface {
	// Entries receives the next entries of the transcript as JSON, separated by commas. The bytes are valid until it
	// returns.
	Entries(encoded []byte) error
	// Item receives the next item of a turn as the runtime describes it, in JSON. Turns are numbered as in
	// Detail.Thread.
	Item(turn int, encoded []byte) error
}

// ImagePath returns the path of a session's image.
func ImagePath(sessionID, imageID string) string {
	return "/api/sessions/" + sessionID + "/images/" + imageID
}
