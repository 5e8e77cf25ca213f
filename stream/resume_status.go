package stream

import (
	"context"
	"fmt"
	"strconv"
)

// resumeStatus is the answer to a cursor: what the client is told, and where its frames begin.
type resumeStatus struct {
	message *Message
	cursor  int64
}

// compare compares a cursor with what the journal still has.
func (h *Hub) compare(ctx context.Context, at cursor) (resumeStatus, error) {
	oldest, headEvent, err := h.journal.Bounds(ctx)
	if err != nil {
		return resumeStatus{}, fmt.Errorf("compare a cursor with the journal: %w", err)
	}
	head := endOf(headEvent)
	switch {
	case at.latest:
		return resumeStatus{resumeStatusMessage("resumed", head, head, 0), head}, nil
	case at.after > head:
		return resumeStatus{resumeStatusMessage("ahead", at.after, head, 0), head}, nil
	case lost(at.after, oldest):
		h.opts.Metrics.Gap("resume")
		return resumeStatus{resumeStatusMessage("gap", at.after, head, oldest), startOf(oldest) - 1}, nil
	default:
		return resumeStatus{resumeStatusMessage("resumed", at.after, head, 0), at.after}, nil
	}
}

// lost tells whether frames after the cursor were pruned. A cursor inside a pruned event counts as a loss although it may have been the
// event's last frame: nobody can tell any more.
func lost(cursor, oldest int64) bool {
	event := eventOf(cursor)
	return oldest > event+1 || oldest == event+1 && midEvent(cursor)
}

// resumeStatusMessage is a resume control frame; oldest is the oldest journal position still kept, 0 when it is not told.
func resumeStatusMessage(kind string, from, to, oldest int64) *Message {
	return newMessage(96, func(dst []byte) []byte {
		dst = append(dst, `{"type":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `","from":`...)
		dst = strconv.AppendInt(dst, from, 10)
		dst = append(dst, `,"to":`...)
		dst = strconv.AppendInt(dst, to, 10)
		if oldest > 0 {
			dst = append(dst, `,"oldest":`...)
			dst = strconv.AppendInt(dst, startOf(oldest), 10)
		}
		return append(dst, '}')
	})
}

// skippedMessage tells a client without positions, which reads too slowly, that frames of replaceable kinds between two positions may be
// missing; all others are not.
func skippedMessage(from, to int64) *Message {
	return newMessage(96, func(dst []byte) []byte {
		dst = append(dst, `{"type":"gap","from":`...)
		dst = strconv.AppendInt(dst, from, 10)
		dst = append(dst, `,"to":`...)
		dst = strconv.AppendInt(dst, to, 10)
		return append(dst, `,"skipped":"replaceable"}`...)
	})
}
