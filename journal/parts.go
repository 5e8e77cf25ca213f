package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"harness/database"
)

// partBytes is how much of a payload is written at once. A longer one is stored in parts of about that size, and an empty text, which is no JSON,
// stands in the event's row: to bind a text and to build a row of it takes several times its size of memory, on either engine.
const partBytes = 1 << 20

// Payload is SQL for the payload of a row of journal_events, whole. Its parts are in order in the index; string_agg's own "order by" would
// have SQLite sort them in memory first.
const Payload = `case when journal_events.payload = ''
	then (select string_agg(part, '') from (select part from journal_parts where journal_parts.pos = journal_events.pos order by number) as parts)
	else journal_events.payload end`

// inParts tells whether a payload is stored in parts.
func inParts(payload json.RawMessage) bool { return len(payload) > partBytes }

// insertParts writes the payloads that are stored in parts.
func insertParts(ctx context.Context, tx database.Tx, records []Record) error {
	if !slices.ContainsFunc(records, func(r Record) bool { return inParts(r.Payload) }) {
		return nil
	}
	err := database.InsertEach(ctx, tx, "journal_parts", []string{"pos", "number", "part"}, func(yield func([]any) bool) {
		for i := range records {
			left := records[i].Payload
			for number := int64(1); inParts(records[i].Payload) && len(left) > 0; number++ {
				size := endOfPart(left)
				if !yield([]any{records[i].Pos, number, text(left[:size])}) {
					return
				}
				left = left[size:]
			}
		}
	})
	if err != nil {
		return fmt.Errorf("insert the parts of long journal events: %w", err)
	}
	return nil
}

// endOfPart is how long the first part of a payload is: no character is cut in two, a text of Postgres may not begin or end within one.
func endOfPart(payload []byte) int {
	if len(payload) <= partBytes {
		return len(payload)
	}
	end := partBytes
	for end > partBytes-utf8.UTFMax && !utf8.RuneStart(payload[end]) {
		end--
	}
	return end
}

// deleteParts deletes the parts of the events that a condition about journal_events selects.
func deleteParts(ctx context.Context, tx database.Tx, condition string, args ...any) error {
	if _, err := tx.ExecContext(ctx, `delete from journal_parts where pos in (select pos from journal_events where payload = '' and `+condition+`)`,
		args...); err != nil {
		return fmt.Errorf("delete the parts of long journal events: %w", err)
	}
	return nil
}
