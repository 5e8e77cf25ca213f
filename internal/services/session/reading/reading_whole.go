package reading

import (
	"context"
	"encoding/json"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// readWhole reads the full transcript one page at a time. Without chunks, it collects the transcript in detail.
func (r *Reader) readWhole(ctx context.Context, q database.Querier, detail *session.Detail, chunks session.Chunks) error {
	id := detail.Session.ID
	turns, err := store.ReadTurns(ctx, q, id)
	if err != nil {
		return err
	}
	shown := turns
	w := wholeReading{chunks: chunks, words: r.describerOf(detail.Session), times: store.TurnTimes(turns)}
	if w.words != nil {
		gone, err := r.entries.RolledBack(ctx, q, id)
		if err != nil {
			return err
		}
		if w.described, err = messageIDs(ctx, q, id); err != nil {
			return err
		}
		shown = slices.DeleteFunc(slices.Clone(turns), func(turn store.Turn) bool { return gone[turn.TurnID] })
	}
	w.turns = newTurnList(shown)
	runs, err := runningIDs(ctx, q, id)
	if err != nil {
		return err
	}
	detail.Transcript = []transcript.Entry{}
	err = r.entries.EachPage(ctx, q, id, func(page []transcript.Entry, encodings transcript.Encodings) error {
		if err := r.growRunning(ctx, q, id, page, runs); err != nil {
			return err
		}
		if err := w.addItems(ctx, q, id, page); err != nil {
			return err
		}
		transcript.Settle(page, w.times)
		if chunks == nil {
			detail.Transcript = append(detail.Transcript, page...)
			return nil
		}
		w.encoded = encodings.AppendJSON(w.encoded[:0], page)
		return chunks.Entries(w.encoded[1 : len(w.encoded)-1])
	})
	if err != nil || w.words == nil {
		return err
	}
	state, err := r.threadState(ctx, q, detail.Session)
	if err != nil {
		return err
	}
	state.Turns = w.turns.all()
	if chunks == nil {
		detail.Session.Thread = w.words.Describe(detail.Session.Thread, state)
		return nil
	}
	detail.Thread = w.words.DescribeParts(detail.Session.Thread, state)
	return nil
}

// wholeReading is the state of a full read between pages.
type wholeReading struct {
	chunks session.Chunks
	words  describer // nil: no descriptions
	times  map[string]transcript.TurnTimes
	turns  *turnList
	// described holds the messages whose runtime description is stored.
	described map[string]bool
	encoded   []byte
}

// addItems adds the runtime's items among entries to their turns.
func (w *wholeReading) addItems(ctx context.Context, q database.Querier, sessionID string, page []transcript.Entry) error {
	if w.words == nil {
		return nil
	}
	var described []string
	for i := range page {
		if id := page[i].MessageID; w.described[id] {
			described = append(described, id)
		}
	}
	messages, err := store.ReadMessages(ctx, q, sessionID, described)
	if err != nil {
		return err
	}
	for i := range page {
		at, known := w.turns.see(page[i].TurnID)
		if !known {
			continue
		}
		item, is := nativeItem(&page[i], messages[page[i].MessageID])
		if !is {
			continue
		}
		if w.chunks == nil {
			turn := &w.turns.turns[at]
			turn.Items = append(turn.Items, item)
			continue
		}
		var described json.RawMessage
		if described = w.words.DescribeItem(item); described == nil {
			continue
		}
		if err := w.chunks.Item(at, described); err != nil {
			return err
		}
	}
	return nil
}
