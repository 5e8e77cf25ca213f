package stream

import (
	"encoding/json"
	"fmt"
	"slices"

	"harness/internal/platform/journal"
)

// A client gets each text once: as live deltas, joined from the journal, or live deltas first and then the joined rest.
// Only a client with the earlier deltas of a group gets the next delta. The joined frame is cut to the part that the
// client lacks.

// maxTextProgress bounds the unfinished groups kept for a client. Groups end quickly. The groups that remain are those
// whose joined frame was hidden by a changed filter; the oldest are dropped.
const maxTextProgress = 1024

// textProgress is how much of a group's text a client has.
type textProgress struct {
	group int64
	of    textName
	// by index of the frame within its event: the end of the last delta, in UTF-16 code units; nothingSent
	// before the first
	ends [2]int64
}

const nothingSent = -1

// end returns the client's furthest progress in any of the group's frames.
func (h *textProgress) end() int64 { return max(h.ends[0], h.ends[1]) }

// textName is the common key of the groups of one text; it is empty for events without a text.
type textName struct{ session, item, into string }

func nameOf(frame *shared) textName {
	if frame.record == nil || frame.Text.Into == "" {
		return textName{}
	}
	return textName{frame.record.SessionID, frame.record.ItemID, frame.Text.Into}
}

// progressOf returns the index of the client's progress in a frame's group, -1 for none. A node may have ended before
// it stored published text. When the text is published again in another group, the client's progress continues.
func (c *client) progressOf(frame *shared) int {
	at := len(c.progress) - 1
	for at >= 0 && c.progress[at].group != frame.Text.Group {
		at--
	}
	if name := nameOf(frame); at < 0 && name != (textName{}) {
		at = slices.IndexFunc(c.progress, func(h textProgress) bool { return h.of == name && h.end() > frame.Text.Offset })
		if at >= 0 {
			c.progress[at].group = frame.Text.Group
		}
	}
	return at
}

// textShare returns the part of a text frame that is due to a client: the frame, the rest of it, or nothing. c.mu is
// held.
func (c *client) textShare(frame *shared) *shared {
	ref, index := frame.Text, int(frame.Pos%framesPerEvent)
	at := c.progressOf(frame)
	end := int64(nothingSent)
	if at >= 0 {
		end = c.progress[at].ends[index]
	}
	if !frame.Ephemeral {
		if at >= 0 && frame.last && c.progress[at].end() <= ref.Offset+ref.Length {
			c.progress = append(c.progress[:at], c.progress[at+1:]...)
		}
		switch {
		case end <= ref.Offset:
			return frame
		case end >= ref.Offset+ref.Length:
			return nil
		default:
			return c.hub.remainder(frame, end)
		}
	}
	if end == nothingSent && !ref.First || end != nothingSent && end != ref.Offset {
		return nil
	}
	if at < 0 {
		if len(c.progress) >= maxTextProgress {
			c.progress = append(c.progress[:0], c.progress[1:]...)
		}
		c.progress = append(c.progress, textProgress{group: ref.Group, of: nameOf(frame), ends: [2]int64{nothingSent, nothingSent}})
		at = len(c.progress) - 1
	}
	c.progress[at].ends[index] = ref.Offset + ref.Length
	return frame
}

// remainder returns a joined frame without the text before an offset.
func (h *Hub) remainder(frame *shared, from int64) *shared {
	record, err := remainderOf(*frame.record, from)
	if err == nil {
		var frames []Frame
		if frames, err = frame.channel.feed.Frames(record); err == nil {
			at := slices.IndexFunc(frames, func(f Frame) bool { return f.Pos == frame.Pos })
			return &shared{Frame: frames[at], channel: frame.channel}
		}
	}
	// It was readable before, so this does not happen.
	h.opts.Logger.Error().Err(err).Int64("pos", record.Pos).Msg("the stream cannot send the rest of a text")
	return nil
}

// remainderOf returns a stored delta without the text before an offset.
func remainderOf(record journal.Record, from int64) (journal.Record, error) {
	known, err := MetaOf(&record.Event)
	if err != nil {
		return record, fmt.Errorf("meta of journal event %d is not readable: %w", record.Pos, err)
	}
	meta, ref := *known, *known.Text
	start := ref.At + 1
	if start < 1 || start > len(record.Payload) {
		return record, fmt.Errorf("the text of journal event %d is not at %d", record.Pos, ref.At)
	}
	cut := start + textIndex(record.Payload[start:], from-ref.Offset)
	record.Payload = append(append(json.RawMessage(nil), record.Payload[:start]...), record.Payload[cut:]...)
	ref.Offset, ref.Length = from, ref.Offset+ref.Length-from
	meta.Text = &ref
	if meta.Layout != nil {
		layout := meta.Layout.Moved(start, start-cut)
		meta.Layout = &layout
	}
	record.Known = &meta
	return record, nil
}

// TextLength counts the UTF-16 code units of a JSON string given without its quotes.
func TextLength(literal []byte) (units int64) {
	for len(literal) > 0 {
		size, n := character(literal)
		units += n
		literal = literal[size:]
	}
	return units
}

// textIndex returns the index after a number of UTF-16 code units of a JSON string, given without its opening quote.
func textIndex(literal []byte, units int64) (index int) {
	for units > 0 && index < len(literal) {
		size, n := character(literal[index:])
		units -= n
		index += size
	}
	return index
}

// character returns the size in bytes of the next character or escape of a JSON string, and its length in UTF-16.
func character(literal []byte) (size int, units int64) {
	switch c := literal[0]; {
	case c == '\\' && len(literal) > 1 && literal[1] == 'u':
		size, units = 6, 1
	case c == '\\':
		size, units = 2, 1
	case c >= 0xf0:
		size, units = 4, 2 // beyond the basic plane: a surrogate pair
	case c >= 0xe0:
		size, units = 3, 1
	case c >= 0xc0:
		size, units = 2, 1
	default:
		size, units = 1, 1
	}
	return min(size, len(literal)), units
}
