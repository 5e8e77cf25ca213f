package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
)

// The condition is that of the index journal_events_deltas. Its event types are those of package stream; they
// distinguish deltas from other events of an item.
const (
	deltasOfItem = `select ` + stored + ` from journal_events
		where session_id = $1 and item_id = $2 and type = 'runtime.notification' and meta like '%"text":{%' and ` + isKept + ` order by pos`
	deltaType = "runtime.notification"
	deltaMark = `"text":{`
)

// ReadDeltas returns the events that add to texts of an item, in order. Within a Unit it includes the events of earlier
// units, whose records have no numbers yet. Its cost depends on the item alone.
func (r *reader) ReadDeltas(ctx context.Context, q database.Querier, sessionID, itemID string) ([]Record, error) {
	records, err := r.readFrom(ctx, q, deltasOfItem, sessionID, itemID)
	if err != nil {
		return nil, fmt.Errorf("the texts of item %s: %w", itemID, err)
	}
	for _, record := range earlier(ctx) {
		if record.SessionID == sessionID && record.ItemID == itemID && record.Type == deltaType &&
			bytes.Contains(record.Meta, []byte(deltaMark)) {
			records = append(records, record)
		}
	}
	return records, nil
}

type earlierKey struct{}

// unwritten are the records of the units that ran earlier in the same transaction; the first has the position after
// pos.
type unwritten struct {
	pos     int64
	records *[]Record
}

// withEarlier gives a unit access to the records of the earlier units in its transaction, which are written after the
// last unit has run.
func withEarlier(ctx context.Context, pos int64, records *[]Record) context.Context {
	return context.WithValue(ctx, earlierKey{}, unwritten{pos, records})
}

func earlier(ctx context.Context) []Record {
	if before, ok := ctx.Value(earlierKey{}).(unwritten); ok {
		return *before.records
	}
	return nil
}

// UnwrittenPayload returns, within a Unit, the payload of an event that is not in the table yet: an earlier unit of the
// same transaction returned it. It returns false for every other position.
func UnwrittenPayload(ctx context.Context, pos int64) (json.RawMessage, bool) {
	before, ok := ctx.Value(earlierKey{}).(unwritten)
	if !ok || pos <= before.pos || pos > before.pos+int64(len(*before.records)) {
		return nil, false
	}
	return (*before.records)[pos-before.pos-1].Payload, true
}
