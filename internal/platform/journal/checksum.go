package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
)

// EventDamaged is the type of an event whose row is damaged. Readers get it in place of the event, with the table and
// the position but never the row's content.
const EventDamaged = "event_damaged"

// checksum returns the checksum of a record as stored on SQLite: CRC-32C of the payload, and CRC-32C of all other
// columns.
func (r *Record) checksum() int64 {
	return database.Checksum(0).Add(text(r.Payload)).Column(r.others(inParts(r.Payload)))
}

// others returns the checksum of everything except the payload. It includes whether the payload is stored in parts.
func (r *Record) others(parts bool) database.Checksum {
	numbers := [...]int64{r.Pos, r.Seq, int64(r.SchemaVersion), r.Time, boolInt(r.Broadcast), boolInt(parts)}
	texts := [...]string{r.SessionID, r.TurnID, r.ItemID, r.Type, r.Source, r.Actor, r.TraceID, r.SpanID, text(r.Meta)}
	of := make([]byte, 0, 8*(len(numbers)+len(texts)))
	for _, number := range numbers {
		of = binary.LittleEndian.AppendUint64(of, uint64(number))
	}
	for _, one := range texts {
		of = binary.LittleEndian.AppendUint64(of, uint64(len(one)))
	}
	sum := database.Checksum(0).Add(text(of))
	for _, one := range texts {
		sum = sum.Add(one)
	}
	return sum
}

// intact reports whether a record still matches its checksum. An empty payload is stored in parts that were not read.
func (r *Record) intact(kept int64) bool {
	payload, others := database.Checksums(kept)
	if len(r.Payload) == 0 {
		return r.others(true) == others
	}
	return r.others(inParts(r.Payload)) == others && database.Checksum(0).Add(text(r.Payload)) == payload
}

// damaged returns the record that readers get in place of a damaged one: only its position is known.
func (r *Record) damaged() Record {
	return Record{Pos: r.Pos, Seq: r.Seq, SchemaVersion: SchemaVersion, Event: Event{SessionID: r.SessionID,
		Type: EventDamaged, Time: r.Time, Source: "journal", Meta: json.RawMessage("{}"),
		Payload: json.RawMessage(fmt.Sprintf(`{"table":"journal_events","position":%d}`, r.Pos))}}
}

func (r *reader) foundDamaged(pos int64) {
	if r.onDamaged != nil {
		r.onDamaged(pos)
	}
}
