// Package scrub scans the rows of a store for rows that changed after they were written.
//
// A reader detects damage only in what it reads. Rows that nothing reads would stay damaged until every earlier backup
// is gone. So a scan covers all rows from time to time.
package scrub

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Row is a damaged row.
type Row struct {
	// Table and Key locate it.
	Table, Key string
	// Missing means that the row is gone.
	Missing bool
}

// String formats the row for people.
func (r Row) String() string {
	if r.Missing {
		return fmt.Sprintf("%s: row %s is missing", r.Table, r.Key)
	}
	return fmt.Sprintf("%s: row %s is damaged", r.Table, r.Key)
}

// Event returns the row of the event at a position of the journal.
func Event(pos int64) Row { return Row{Table: "journal_events", Key: strconv.FormatInt(pos, 10)} }

// Options configure Run.
type Options struct {
	DB *database.DB
	// Found is called with each damaged row.
	Found func(Row)
	// Rate limits the bytes read per second; 0 means no limit.
	Rate int64
}

// Run scans every row that has a checksum, and returns the number of bytes read. It reads each batch as a snapshot, so
// concurrent pruning and writes are not damage. It does not block writers.
func Run(ctx context.Context, opts Options) (bytes int64, err error) {
	for pos, more := int64(0), true; more; {
		var found journal.Scrubbed
		if err := opts.DB.Snapshot(ctx, func(q database.Querier) (err error) {
			found, err = journal.Scrub(ctx, q, pos)
			return err
		}); err != nil {
			return bytes, err
		}
		for _, at := range found.Damaged {
			opts.Found(Event(at))
		}
		for _, at := range found.Missing {
			gone := Event(at)
			gone.Missing = true
			opts.Found(gone)
		}
		bytes += found.Bytes
		if pos, more = found.Last, found.Last != 0; !opts.rest(ctx, found.Bytes) {
			return bytes, ctx.Err()
		}
	}
	for at, more := (transcript.Key{}), true; more; {
		var found transcript.Scrubbed
		if err := opts.DB.Snapshot(ctx, func(q database.Querier) (err error) {
			found, err = transcript.Scrub(ctx, q, at)
			return err
		}); err != nil {
			return bytes, err
		}
		for _, k := range found.Damaged {
			opts.Found(Row{Table: "transcript_entries", Key: fmt.Sprintf("%s of session %s",
				database.DecodeText(k.MessageID), database.DecodeText(k.SessionID))})
		}
		bytes += found.Bytes
		if at, more = found.Last, found.Last != (transcript.Key{}); !opts.rest(ctx, found.Bytes) {
			return bytes, ctx.Err()
		}
	}
	return bytes, opts.requests(ctx)
}

// requests scans interactive requests and waiting messages, which are few.
func (o Options) requests(ctx context.Context) error {
	return o.DB.Snapshot(ctx, func(q database.Querier) error {
		requests, messages, err := store.Damaged(ctx, q)
		for _, id := range requests {
			o.Found(Row{Table: "interactive_requests", Key: id})
		}
		for _, id := range messages {
			o.Found(Row{Table: "queued_messages", Key: id})
		}
		return err
	})
}

// Structure runs SQLite's check of its pages, and of its indexes against the tables. most limits the returned problems.
func Structure(ctx context.Context, db *database.DB, most int) (problems []string, err error) {
	problems, err = database.ReadTexts(ctx, db.Read(), "check the pages", fmt.Sprintf(`pragma integrity_check(%d)`, most))
	if len(problems) == 1 && problems[0] == "ok" {
		problems = nil
	}
	return problems, err
}

// rest sleeps to keep the rate after reading some bytes, and reports whether to continue.
func (o Options) rest(ctx context.Context, bytes int64) bool {
	if o.Rate == 0 || bytes == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(time.Duration(bytes) * time.Second / time.Duration(o.Rate))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
