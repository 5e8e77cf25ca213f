package transcript

import (
	"context"
	"database/sql"
	"errors"
	"unsafe"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// StoredEntry is, in a query of transcript_entries, an entry's content: its own JSON, or the event with the whole
// entry. It is null for older rows, which store the content in columns (migration 0017).
const StoredEntry = `coalesce(` + encodedWhole + `, ` + journal.PayloadAtEventPos + `)`

// encodedWhole is the complete column encoded: the index returns the parts of a long entry (long.go) in order.
const encodedWhole = `case when encoded = '' then (select string_agg(part, '') from (select part from transcript_parts
	where session = session_id and message = message_id order by number) as parts) else encoded end`

// storedChecksum is the checksum that belongs to StoredEntry, in the high 32 bits.
const storedChecksum = `coalesce(checksum, ` + journal.ChecksumAtEventPos + `)`

// CheckedEntry is the checksum, a blank and StoredEntry. ContentOf reads it.
const CheckedEntry = `coalesce(cast(` + storedChecksum + ` as text), '') || ' ' || ` + StoredEntry

// entryColumns are the columns that scanEntry scans.
const entryColumns = entryHead + StoredEntry + `, event_pos, ` + storedChecksum

const entryHead = `message_id, turn_id, role, type, content, details, status, started_at, completed_at, `

// shortColumns are entryColumns without the parts of a long entry; a scan of one returns errInParts.
const shortColumns = entryHead + `coalesce(encoded, ` + journal.PayloadAtEventPos + `), event_pos, ` + storedChecksum

// briefColumns are shortColumns without the parts of a long event, too.
const briefColumns = entryHead + `coalesce(encoded, (select journal_events.payload from journal_events where pos = event_pos)),
	event_pos, ` + storedChecksum

// errInParts means that an entry is stored in parts, which were not read.
var errInParts = errors.New("the entry is stored in parts")

// scanEntry reads an entry in the form readers see. A damaged entry says that it is damaged.
func scanEntry(ctx context.Context, row database.Row) (Entry, error) {
	entry, damaged, err := scanStored(ctx, row)
	if damaged {
		entry = entry.damaged()
	}
	return entry, err
}

// scanStored reads an entry. A damaged entry has no texts; its other fields come from the columns.
func scanStored(ctx context.Context, row database.Row) (entry Entry, damaged bool, err error) {
	var (
		details, stored    sql.NullString
		started, completed sql.NullInt64
		pos, kept          sql.NullInt64
	)
	if err := row.Scan(&entry.MessageID, &entry.TurnID, &entry.Role, &entry.Type, &entry.Content, &details, &entry.Status,
		&started, &completed, &stored, &pos, &kept); err != nil {
		return Entry{}, false, err
	}
	if pos.Valid && !stored.Valid {
		// The event may belong to an earlier unit of the same transaction; any other event is written before its entry
		// is visible.
		payload, there := journal.UnwrittenPayload(ctx, pos.Int64)
		stored, damaged = sql.NullString{String: string(payload), Valid: there}, !there
	}
	if stored.Valid {
		read, opened := openEntry(stored.String, kept)
		switch {
		case stored.String == "":
			err = errInParts
		case opened == nil && database.EncodeText(read.MessageID) == entry.MessageID:
			return read, false, nil
		default:
			damaged = true
		}
	}
	for _, text := range []*string{&entry.MessageID, &entry.TurnID, &entry.Role, &entry.Type, &entry.Content} {
		*text = database.DecodeText(*text)
	}
	if details.Valid {
		text := database.DecodeText(details.String)
		entry.Details = &text
	}
	if started.Valid {
		entry.StartedAt = &started.Int64
	}
	if completed.Valid {
		entry.CompletedAt = &completed.Int64
	}
	return entry, damaged, err
}

// rowKinds are the kinds of rowColumns, in which values writes an entry. pos is the position of the event with the
// whole entry, 0 for none.
var rowKinds = []database.Kind{database.Text, database.Text, database.Text, database.Text, database.Text, database.Text,
	database.Int, database.Int, database.Text, database.Int, database.Int}

const rowColumns = `session_id, message_id, turn_id, role, type, status, started_at, completed_at, encoded, event_pos, checksum`

func values(session string, entry *Entry, pos int64) []any {
	var (
		encoded sql.NullString
		at, sum sql.NullInt64
	)
	switch {
	case pos != 0:
		at = sql.NullInt64{Int64: pos, Valid: true}
	case entry.long():
		encoded.Valid = true // storeParts writes its parts, with their checksum
	default:
		text := entry.AppendJSON(make([]byte, 0, entry.Size()))
		// no copy: text never changes
		encoded = sql.NullString{String: unsafe.String(unsafe.SliceData(text), len(text)), Valid: true}
		sum = sql.NullInt64{Int64: checksumOf(encoded.String).Column(0), Valid: true}
	}
	return []any{session, database.EncodeText(entry.MessageID), database.EncodeText(entry.TurnID),
		database.EncodeText(entry.Role), database.EncodeText(entry.Type), string(entry.Status), nullable(entry.StartedAt),
		nullable(entry.CompletedAt), encoded, at, sum}
}

func nullable(value *int64) sql.NullInt64 {
	if value == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: *value, Valid: true}
}
