package stream

import (
	"context"
	"fmt"
	"strconv"
)

// resumeStatus is the answer to a cursor: the notice for the client, and the position at which its frames begin.
type resumeStatus struct {
	message *Message
	cursor  int64
}

// compare compares a cursor with the range that the journal still holds.
func (h *Hub) compare(ctx context.Context, at cursor) (resumeStatus, error) {
	answer, from, err := h.resumePoint(ctx, at)
	return resumeStatus{noticeMessage(answer), from}, err
}

// resumePoint compares a cursor with the journal. It returns the notice for the client and the position at which its
// frames begin.
func (h *Hub) resumePoint(ctx context.Context, at cursor) (answer Notice, from int64, err error) {
	oldest, headEvent, err := h.journal.Bounds(ctx)
	if err != nil {
		return Notice{}, 0, fmt.Errorf("compare a cursor with the journal: %w", err)
	}
	head := endOf(headEvent)
	switch {
	case at.latest:
		return notice("resumed", head, head, 0), head, nil
	case at.after > head:
		return notice("ahead", at.after, head, 0), head, nil
	case lost(at.after, oldest):
		h.opts.Metrics.Gap("resume")
		return notice("gap", at.after, head, oldest), startOf(oldest) - 1, nil
	default:
		return notice("resumed", at.after, head, 0), at.after, nil
	}
}

// lost reports whether frames after the cursor were pruned. A cursor inside a pruned event counts as a loss. It may
// have pointed to the event's last frame, but that can no longer be determined.
func lost(cursor, oldest int64) bool {
	event := eventOf(cursor)
	return oldest > event+1 || oldest == event+1 && midEvent(cursor)
}

func noticeMessage(n Notice) *Message {
	return newMessage(96, func(dst []byte) []byte { return appendNotice(dst, n) })
}

func notice(kind string, from, to, oldest int64) Notice {
	n := Notice{Kind: kind, From: from, To: to}
	if oldest > 0 {
		n.Oldest = startOf(oldest)
	}
	return n
}

// skipped returns the notice for a slow client without positions: replaceable frames between two positions may be
// missing; all others were sent.
func skipped(from, to int64) Notice {
	return Notice{Kind: "gap", From: from, To: to, Skipped: true}
}

func appendNotice(dst []byte, n Notice) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, n.Kind...)
	dst = append(dst, `","from":`...)
	dst = strconv.AppendInt(dst, n.From, 10)
	dst = append(dst, `,"to":`...)
	dst = strconv.AppendInt(dst, n.To, 10)
	if n.Oldest > 0 {
		dst = append(dst, `,"oldest":`...)
		dst = strconv.AppendInt(dst, n.Oldest, 10)
	}
	if n.Skipped {
		dst = append(dst, `,"skipped":"replaceable"`...)
	}
	return append(dst, '}')
}
