package transcript

import (
	"context"
	"database/sql"
	"errors"
	"unsafe"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// StoredEntry is, in a selection from transcript_entries, an entry's content: its own JSON, or the event that
// has the whole entry. It is null for rows of before, which have it in columns (migration 0017).
const StoredEntry = `coalesce(` + encodedWhole + `, ` + journal.PayloadAtEventPos + `)`

// encodedWhole is the column encoded, whole: the parts of a long entry (long.go) are in order in their index.
const encodedWhole = `case when encoded = '' then (select string_agg(part, '') from (select part from transcript_parts
	where session = session_id and message = message_id order by number) as parts) else encoded end`

// storedChecksum is, beside StoredEntry, the checksum of what an entry says, in the high 32 bits.
const storedChecksum = `coalesce(checksum, ` + journal.ChecksumAtEventPos + `)`

// CheckedEntry is StoredEntry behind its checksum and a blank. ContentOf reads it.
const CheckedEntry = `coalesce(cast(` + storedChecksum + ` as text), '') || ' ' || ` + StoredEntry

// entryColumns are what scanEntry scans.
const entryColumns = entryHead + StoredEntry + `, event_pos, ` + storedChecksum

const entryHead = `message_id, turn_id, role, type, content, details, status, started_at, completed_at, `

// shortColumns are entryColumns without the parts of a long entry: errInParts.
const shortColumns = entryHead + `coalesce(encoded, ` + journal.PayloadAtEventPos + `), event_pos, ` + storedChecksum

// errInParts says that an entry is stored in parts which were not read.
var errInParts = errors.New("the entry is stored in parts")

// scanEntry reads an entry as readers are shown it. One that is damaged says so.
func scanEntry(ctx context.Context, row database.Row) (Entry, error) {
	entry, damaged, err := scanStored(ctx, row)
	if damaged {
		entry = entry.damaged()
	}
	return entry, err
}

// scanStored reads an entry. One that is not as it was written has no texts, and else what its columns say.
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
		// An event of a unit before this one in the same transaction; any other is written before its entry
		// is visible.
		payload, there := journal.UnwrittenPayload(ctx, pos.Int64)
		stored, damaged = sql.NullString{String: string(payload), Valid: there}, !there
	}
	if stored.Valid {
		if stored.String == "" {
			return Entry{}, false, errInParts
		}
		read, err := openEntry(stored.String, kept)
		if err == nil && database.EncodeText(read.MessageID) == entry.MessageID {
			return read, false, nil
		}
		damaged = true
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
	return entry, damaged, nil
}

// rowKinds are those of rowColumns, in which values writes an entry. pos is the position of the event that
// has the whole entry, 0 for none.
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
		encoded.Valid = true // its parts follow, with their checksum (storeParts)
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
