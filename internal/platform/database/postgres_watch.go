package database

import (
	"context"
	"time"
)

// stalled is how long a client may stall in the middle of a statement while it holds a lock that others wait for.
// Postgres then waits for the client's next message, or for the client to read an answer. No timeout of Postgres ends
// that.
const stalled = 2 * time.Second

// endStalled ends the transactions that a connection waits for and whose clients stalled within a statement.
const endStalled = `select count(*) from (select pg_terminate_backend(pid) from pg_stat_activity where pid = any(pg_blocking_pids($1))
	and state = 'active' and wait_event_type = 'Client' and extract(epoch from clock_timestamp() - state_change) * 1000 > $2) as ended`

// watch monitors a connection that may have to wait for a lock, until stop is called. stop returns the error of the
// monitoring.
func (db *DB) watch(ctx context.Context, pid uint32) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	timer := time.AfterFunc(stalled, func() {
		ticker := time.NewTicker(stalled / 4)
		defer ticker.Stop()
		for {
			var ended int
			if err := db.read.QueryRowContext(ctx, endStalled, int64(pid), stalled.Milliseconds()).Scan(&ended); err != nil {
				done <- err
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				done <- nil
				return
			}
		}
	})
	return func() error {
		cancel()
		if timer.Stop() {
			return nil
		}
		return <-done
	}
}
