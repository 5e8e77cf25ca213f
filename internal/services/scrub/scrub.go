// Package scrub looks through the rows of a store for those that are not as they were written.
//
// A reader finds damage in what it reads. What is read by nothing would stay damaged until every backup from before is
// gone: so all rows are looked at from time to time.
package scrub

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session/manager"
	"harness/transcript"
)

// Row is a row that is not as it was written.
type Row struct {
	// Table and Key say where it is.
	Table, Key string
	// Missing says that it is gone.
	Missing bool
}

// String names the row for people.
func (r Row) String() string {
	if r.Missing {
		return fmt.Sprintf("%s: row %s is missing", r.Table, r.Key)
	}
	return fmt.Sprintf("%s: row %s is damaged", r.Table, r.Key)
}

// Event is the row of the event at a position of the journal.
func Event(pos int64) Row { return Row{Table: "journal_events", Key: strconv.FormatInt(pos, 10)} }

// Options of Run.
type Options struct {
	DB *database.DB
	// Found is called with each row that is damaged.
	Found func(Row)
	// Rate bounds how many bytes a second are read; 0 means no bound.
	Rate int64
}

// Run looks at every row that has a checksum, and returns how many bytes it read. Each stretch is read as it was at one
// moment: what is pruned or written meanwhile is not damaged. Writers are not held up.
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

// requests looks at interactive requests and waiting messages, of which there are few.
func (o Options) requests(ctx context.Context) error {
	return o.DB.Snapshot(ctx, func(q database.Querier) error {
		requests, messages, err := manager.Damaged(ctx, q)
		for _, id := range requests {
			o.Found(Row{Table: "interactive_requests", Key: id})
		}
		for _, id := range messages {
			o.Found(Row{Table: "queued_messages", Key: id})
		}
		return err
	})
}

// Structure has SQLite look at its pages, and at whether indexes and tables say the same. It returns at most so many
// problems.
func Structure(ctx context.Context, db *database.DB, most int) (problems []string, err error) {
	problems, err = database.ReadTexts(ctx, db.Read(), "check the pages", fmt.Sprintf(`pragma integrity_check(%d)`, most))
	if len(problems) == 1 && problems[0] == "ok" {
		problems = nil
	}
	return problems, err
}

// rest waits for as long as reading so much may take, and is whether to go on.
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
