package transcript

import (
	"context"
	"database/sql"

	"harness/internal/platform/database"
)

// Key is the key of an entry's row.
type Key struct{ SessionID, MessageID string }

// Scrubbed is the result of Scrub for a range of entries.
type Scrubbed struct {
	// Last is the last entry that was checked; the zero value once all are checked.
	Last Key
	// Bytes is about how many bytes Scrub read.
	Bytes int64
	// Damaged lists entries that differ from what was written, or whose event is about another entry.
	Damaged []Key
}

// scrubRows is the maximum number of rows that Scrub reads.
const scrubRows = 500

// Scrub checks the next entries after one, in key order. The journal's scrub checks an entry's event; this one checks
// that the event is about this entry. Rows without a checksum, from older versions, pass.
func Scrub(ctx context.Context, q database.Querier, after Key) (found Scrubbed, err error) {
	var long []Key
	sums := map[Key]int64{}
	n := 0
	err = database.ReadEach(ctx, q, "scrub entries", func(row database.Row) error {
		var (
			k       Key
			encoded sql.NullString
			kept    sql.NullInt64
			joined  bool
		)
		if err := row.Scan(&k.SessionID, &k.MessageID, &encoded, &kept, &joined); err != nil {
			return err
		}
		n++
		found.Last, found.Bytes = k, found.Bytes+int64(len(encoded.String))
		switch {
		case !joined:
			found.Damaged = append(found.Damaged, k)
		case !kept.Valid:
		case encoded.String == "":
			long, sums[k] = append(long, k), kept.Int64
		default:
			if sum, _ := database.Checksums(kept.Int64); sum != checksumOf(encoded.String) {
				found.Damaged = append(found.Damaged, k)
			}
		}
		return nil
	}, `select session_id, message_id, encoded, checksum, event_pos is null or exists (select 1 from journal_events
			where `+joinedEvent+`) from transcript_entries
		where (session_id, message_id) > ($1, $2) order by session_id, message_id limit $3`,
		after.SessionID, after.MessageID, scrubRows)
	for _, k := range long {
		if err != nil {
			break
		}
		var damaged bool
		if damaged, err = damagedParts(ctx, q, k, sums[k], &found.Bytes); damaged {
			found.Damaged = append(found.Damaged, k)
		}
	}
	if n < scrubRows {
		found.Last = Key{}
	}
	return found, err
}

func damagedParts(ctx context.Context, q database.Querier, k Key, kept int64, size *int64) (bool, error) {
	want, _ := database.Checksums(kept)
	var sum database.Checksum
	err := database.ReadEach(ctx, q, "scrub the parts of an entry", func(row database.Row) error {
		var part string
		err := row.Scan(&part)
		sum, *size = sum.Add(part), *size+int64(len(part))
		return err
	}, `select part from transcript_parts where session = $1 and message = $2 order by number`, k.SessionID, k.MessageID)
	return err == nil && sum != want, err
}
