package stream

import (
	"encoding/json"
	"fmt"

	"harness/internal/platform/journal"
)

// GrownText is a text of an item as far as it is stored.
type GrownText struct {
	// Into is TextRef.Into.
	Into string
	Text string
}

// GrowTexts folds an item's stored deltas, in order, into the texts they make, by the rule clients are given: each is
// laid at its offset.
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
		// The pieces are joined before they are read: one may end in the middle of a character's escape.
		if err := json.Unmarshal(append(append([]byte{'"'}, text.literal...), '"'), &texts[i].Text); err != nil {
			return nil, fmt.Errorf("a text joined from the journal is not readable: %w", err)
		}
	}
	return texts, nil
}

// growing is a text as JSON, without the quotes, and where it ends in UTF-16 code units. What was pruned of its
// beginning is not in it.
type growing struct {
	into       string
	literal    []byte
	begin, end int64
}

func (g *growing) add(ref *TextRef, delta []byte) {
	switch {
	case ref.Offset > g.end: // what came between was pruned
		g.literal, g.begin = g.literal[:0], ref.Offset
	case ref.Offset < g.end:
		keep := max(0, ref.Offset-g.begin)
		g.literal = g.literal[:textIndex(g.literal, keep)]
		g.begin = min(g.begin, ref.Offset)
	}
	g.literal, g.end = append(g.literal, delta...), ref.Offset+ref.Length
}

// literal is where the JSON string that begins at a place of a payload stands, without its quotes.
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

// CursorAfter is the cursor (?after=) behind every frame of the event at a position of the journal: who reads a state
// that holds all events up to there misses nothing and gets nothing twice from it on.
func CursorAfter(journalPos int64) int64 { return endOf(journalPos) }
