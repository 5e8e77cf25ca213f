package stream

import (
	"encoding/json"
	"strconv"
)

// A position names one frame: the journal position of its event times framesPerEvent, plus the index of the frame
// within the event. A cursor at any frame therefore resumes exactly after it, even in the middle of an event.
const (
	framesPerEvent = 16
	lastIndex      = framesPerEvent - 1
)

// Frame is one event frame as clients see it: {"type":..,"threadId":..|null,"payload":..}.
type Frame struct {
	Type string
	// ThreadID is "" for a frame without a thread (null on the wire).
	ThreadID string
	// Payload is raw JSON.
	Payload json.RawMessage
	// Broadcast frames bypass a socket's thread filter.
	Broadcast bool
	// SystemOwned frames reach only sockets filtered on exactly ThreadID, even when they are broadcasts.
	SystemOwned bool
	// Console frames reach only the console's view: codex-manager has no such frames.
	Console bool
	// Replaceable frames are superseded by a later one: text deltas (the finished item has the whole text), token
	// usage, plan and diff.
	Replaceable bool
	// Repeats: a later frame of the same event has the same content.
	Repeats bool
	// Text is set on a frame that adds to a text. An Ephemeral frame is not stored yet: it has no position and no
	// number.
	Text      *TextRef
	Ephemeral bool
	// Runtime is the runtime that sent it, "" for none or wire.Origin.
	Runtime string
	// About is the feed's own data for selecting receivers; the stream's feed has none.
	About any
	// project is the project of its record, "" for none or when no client is limited to projects (Hub.projects).
	project string
	// Pos is the frame's position (journal pos*16 + index within the event), Seq is its event's number within the
	// session.
	Pos, Seq int64
}

// AppendJSON appends the frame as JSON. With positions it also carries pos and seq, and the offset of a delta, for
// clients that asked to resume.
func (f *Frame) AppendJSON(dst []byte, positions bool) []byte {
	dst = append(dst, `{"type":`...)
	dst = appendString(dst, f.Type)
	dst = append(dst, `,"threadId":`...)
	dst = appendNullable(dst, f.ThreadID)
	dst = append(dst, `,"payload":`...)
	dst = appendRaw(dst, f.Payload, "null")
	if f.Runtime != "" {
		dst = appendMember(dst, "runtime")
		dst = appendString(dst, f.Runtime)
	}
	if positions && !f.Ephemeral {
		dst = append(dst, `,"pos":`...)
		dst = strconv.AppendInt(dst, f.Pos, 10)
		dst = append(dst, `,"seq":`...)
		dst = strconv.AppendInt(dst, f.Seq, 10)
	}
	if positions && f.Text != nil {
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendInt(dst, f.Text.Offset, 10)
	}
	return append(dst, '}')
}

// visible reports whether a socket with this filter ("" means none) gets the frame.
func (f *Frame) visible(filter string) bool {
	switch {
	case f.Console:
		return false
	case f.SystemOwned:
		return filter != "" && filter == f.ThreadID
	case filter == "":
		return true
	default:
		return f.Broadcast || f.ThreadID == filter
	}
}

// size estimates the encoded length, for queue bounds, without encoding.
func (f *Frame) size() int { return len(f.Payload) + len(f.Type) + len(f.ThreadID) + 64 }

// endOf returns the position after every frame of the event at a journal position; a cursor there resumes with the next
// event.
func endOf(journalPos int64) int64 {
	if journalPos <= 0 {
		return 0
	}
	return journalPos*framesPerEvent + lastIndex
}

// startOf returns the position of the first frame of the event at a journal position.
func startOf(journalPos int64) int64 { return journalPos * framesPerEvent }

// eventOf returns the journal position of the event that a cursor points into.
func eventOf(cursor int64) int64 { return cursor / framesPerEvent }

// midEvent reports whether frames of the cursor's own event may still be due.
func midEvent(cursor int64) bool { return eventOf(cursor) > 0 && cursor%framesPerEvent != lastIndex }
