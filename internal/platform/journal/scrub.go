package journal

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Scrubbed is the result of Scrub for a range of the journal.
type Scrubbed struct {
	// Last is the position up to which it read; 0 at the end of the journal.
	Last int64
	// Bytes is roughly how much it read.
	Bytes int64
	// Damaged are the positions of damaged rows. Missing are those of missing rows between stored ones.
	Damaged, Missing []int64
}

// scrubRows is the maximum number of rows that Scrub reads.
const scrubRows = 500

// Scrub checks the next rows after a position, whatever their content. It holds one row in memory at a time, and a long
// one a part at a time. Rows that were stored before checksums existed pass.
func Scrub(ctx context.Context, q database.Querier, after int64) (found Scrubbed, err error) {
	oldest, head, err := Bounds(ctx, q)
	if err != nil {
		return found, err
	}
	var (
		long []Record
		kept = map[int64]int64{}
		next = max(after+1, oldest)
		n    int
	)
	err = database.ReadEach(ctx, q, "scrub the journal", func(row database.Row) error {
		record, sum, err := scanRow(row)
		if err != nil {
			return err
		}
		for n++; next < record.Pos; next++ {
			found.Missing = append(found.Missing, next)
		}
		next, found.Last = record.Pos+1, record.Pos
		found.Bytes += int64(len(record.Payload) + len(record.Meta))
		switch {
		case !sum.Valid:
		case !record.intact(sum.Int64):
			found.Damaged = append(found.Damaged, record.Pos)
		case len(record.Payload) == 0:
			long, kept[record.Pos] = append(long, record), sum.Int64
		}
		return nil
	}, `select `+rows+` from journal_events where pos >= $1 and pos <= $2 order by pos limit $3`, next, head, scrubRows)
	if err != nil {
		return found, err
	}
	for i := range long {
		want, _ := database.Checksums(kept[long[i].Pos])
		sum, size, err := sumOfParts(ctx, q, long[i].Pos)
		if err != nil {
			return found, err
		}
		if found.Bytes += size; sum != want {
			found.Damaged = append(found.Damaged, long[i].Pos)
		}
	}
	if n < scrubRows {
		for ; next <= head; next++ {
			found.Missing = append(found.Missing, next)
		}
		found.Last = 0
	}
	return found, nil
}

func sumOfParts(ctx context.Context, q database.Querier, pos int64) (sum database.Checksum, size int64, err error) {
	err = database.ReadEach(ctx, q, fmt.Sprintf("scrub the parts of event %d", pos), func(row database.Row) error {
		var part string
		err := row.Scan(&part)
		sum, size = sum.Add(part), size+int64(len(part))
		return err
	}, `select part from journal_parts where pos = $1 order by number`, pos)
	return sum, size, err
}
