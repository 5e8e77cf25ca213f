package audit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// A row takes a place in the sealed log, and a transaction if it is written alone. Rows therefore gather after the
// first one and are written together, and equal calls within merge share one row with a count. So a client that writes
// many transcript lines in sequence causes only one additional transaction a second.
const (
	gather = 100 * time.Millisecond
	merge  = time.Second
	// maxCalls bounds the calls that wait for their rows, even while the store refuses writes. Beyond it, calls are
	// recorded without their session, task and parameters, so that they merge.
	maxCalls = 4096
	// maxRows bounds one transaction.
	maxRows = 256
)

// Recorder writes a row for each call. Make it with NewRecorder. Record never blocks its caller.
type Recorder struct {
	journal Journal
	now     func() time.Time
	log     zerolog.Logger
	wake    wake.Signal

	mu    sync.Mutex
	calls map[Call]*tally
	cut   []Row // not written because ctx of Run ended
}

// NewRecorder makes a recorder that writes through a journal. now may be nil.
func NewRecorder(to Journal, now func() time.Time, log zerolog.Logger) *Recorder {
	if now == nil {
		now = time.Now
	}
	return &Recorder{journal: to, now: now, log: log, wake: wake.New(), calls: map[Call]*tally{}}
}

// Record records a call after its response, in the given trace ("" for none). Run or Flush writes its row.
func (r *Recorder) Record(call Call, traceID string) {
	at := r.now().UnixMilli()
	r.mu.Lock()
	known := r.calls[call]
	if known == nil && len(r.calls) >= maxCalls {
		call.SessionID, call.TaskID, call.Params = "", "", ""
		known = r.calls[call]
	}
	if known == nil {
		known = &tally{}
		r.calls[call] = known
	}
	if known.count == 0 {
		known.firstAt, known.traceID = at, traceID
	}
	known.count++
	known.lastAt = at
	r.mu.Unlock()
	r.wake.Set()
}

// Run writes rows until ctx ends. Call Flush after it: the last calls have no rows yet.
func (r *Recorder) Run(ctx context.Context) {
	ticker := time.NewTicker(gather)
	defer ticker.Stop()
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		ticker.Reset(gather)
		for waiting := true; waiting; {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			var rows []Row
			rows, waiting = r.take(r.now().UnixMilli())
			switch left, err := r.write(ctx, rows); {
			case err != nil && ctx.Err() != nil:
				r.restore(left)
			case err != nil:
				r.log.Error().Err(err).Int("rows", len(left)).Msg("requests have no row in the audit log")
			}
		}
	}
}

// Flush writes the rows of all calls recorded so far.
func (r *Recorder) Flush(ctx context.Context) error {
	rows, _ := r.take(r.now().Add(merge).UnixMilli() + 1)
	left, err := r.write(ctx, rows)
	if err != nil {
		return fmt.Errorf("write the rows of %d requests: %w", len(left), err)
	}
	return nil
}

// restore keeps rows for Flush.
func (r *Recorder) restore(rows []Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = append(rows, r.cut...)
}

// take returns the rows that are due at a time. waiting reports whether calls remain with rows that are not due yet, or
// with a recent row that equal calls may follow.
func (r *Recorder) take(at int64) (rows []Row, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows, r.cut = r.cut, nil
	for call, t := range r.calls {
		switch {
		case t.due > at:
		case t.count > 0:
			rows = append(rows, call.row(*t))
			*t = tally{due: at + merge.Milliseconds()}
		default:
			delete(r.calls, call)
		}
	}
	return rows, len(r.calls) > 0
}

// write seals rows at the end of the log, and returns those that it could not write. A row has the position of the
// journal's latest event: it has no event itself.
func (r *Recorder) write(ctx context.Context, rows []Row) (left []Row, err error) {
	for len(rows) > 0 {
		part := rows[:min(maxRows, len(rows))]
		_, err := r.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			for i := range part {
				part[i].Pos = max(journal.NextPos(ctx)-1, 0)
			}
			return nil, put(ctx, tx, part)
		})
		if err != nil {
			return rows, err
		}
		rows = rows[len(part):]
	}
	return nil, nil
}
