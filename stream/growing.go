package stream

import (
	"encoding/json"
	"fmt"

	"harness/internal/platform/journal"
)

// GrownText is the stored part of an item's text.
type GrownText struct {
	// Into is TextRef.Into.
	Into string
	Text string
}

// GrowTexts folds an item's stored deltas, in order, into texts. It follows the rule for clients: each delta is
// placed at its offset.
func GrowTexts(records []journal.Record) ([]GrownText, error) {
	var grown []growing
	for _, record := range records {
		meta, err := MetaOf(&record.Event)
		if err != nil {
			return nil, fmt.Errorf("meta of journal event %d is not readable: %w", record.Pos, err)
		}
		if meta.Text == nil {
			continue
		}
		from, to, err := literal(record.Payload, meta.Text.At)
		if err != nil {
			return nil, fmt.Errorf("journal event %d: %w", record.Pos, err)
		}
		at := 0
		for at < len(grown) && grown[at].into != meta.Text.Into {
			at++
		}
		if at == len(grown) {
			grown = append(grown, growing{into: meta.Text.Into})
		}
		grown[at].add(meta.Text, record.Payload[from:to])
	}
	texts := make([]GrownText, len(grown))
	for i, text := range grown {
		texts[i].Into = text.into
		// The deltas are joined before they are parsed: one may end in the middle of a character's escape.
		if err := json.Unmarshal(append(append([]byte{'"'}, text.literal...), '"'), &texts[i].Text); err != nil {
			return nil, fmt.Errorf("a text joined from the journal is not readable: %w", err)
		}
	}
	return texts, nil
}

// growing is a text as JSON without the quotes, and its end in UTF-16 code units. It lacks a pruned beginning.
type growing struct {
	into       string
	literal    []byte
	begin, end int64
}

func (g *growing) add(ref *TextRef, delta []byte) {
	switch {
	case ref.Offset > g.end: // the deltas between were pruned
		g.literal, g.begin = g.literal[:0], ref.Offset
	case ref.Offset < g.end:
		keep := max(0, ref.Offset-g.begin)
		g.literal = g.literal[:textIndex(g.literal, keep)]
		g.begin = min(g.begin, ref.Offset)
	}
	g.literal, g.end = append(g.literal, delta...), ref.Offset+ref.Length
}

// literal returns the JSON string that begins at an offset of a payload, without its quotes.
func literal(payload []byte, at int) (from, to int, err error) {
	if at < 0 || at >= len(payload) || payload[at] != '"' {
		return 0, 0, fmt.Errorf("its text is not at %d", at)
	}
	for to = at + 1; to < len(payload); to++ {
		switch payload[to] {
		case '"':
			return at + 1, to, nil
		case '\\':
			to++
		}
	}
	return 0, 0, fmt.Errorf("its text at %d has no end", at)
}

// CursorAfter returns the cursor (?after=) after all frames of the event at a journal position. A client that read a
// state with all events up to that position can resume there: it misses no frame and gets none twice.
func CursorAfter(journalPos int64) int64 { return endOf(journalPos) }
