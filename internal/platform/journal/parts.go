package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
)

// Payload is SQL for the whole payload of a row of journal_events. A payload stored in parts is an empty text in its
// row, which is not valid JSON. The index returns the parts in order; string_agg's own "order by" would make SQLite
// sort them in memory first.
const Payload = `case when journal_events.payload = ''
	then (select string_agg(part, '') from (select part from journal_parts where journal_parts.pos = journal_events.pos
		order by number) as parts)
	else journal_events.payload end`

// inParts reports whether a payload is stored in parts.
func inParts(payload json.RawMessage) bool { return len(payload) > database.PartBytes }

// insertParts writes the payloads to store in parts.
func insertParts(ctx context.Context, tx database.Tx, records []Record) error {
	for i := range records {
		if r := &records[i]; inParts(r.Payload) {
			key := database.PartKey{Table: "journal_parts", Columns: []string{"pos"}, Values: []any{r.Pos}}
			if err := database.WriteParts(ctx, tx, key, database.Parts(r.Payload)); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteParts deletes the parts of the events that a condition about journal_events selects.
func deleteParts(ctx context.Context, tx database.Tx, condition string, args ...any) error {
	if _, err := tx.ExecContext(ctx,
		`delete from journal_parts where pos in (select pos from journal_events where payload = '' and `+condition+`)`,
		args...); err != nil {
		return fmt.Errorf("delete the parts of long journal events: %w", err)
	}
	return nil
}
