package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"harness/internal/lib/boottime"
	"harness/internal/platform/database"
)

// storeClock is the store's clock, which is the same for all nodes, between two looks at it: it goes on as time does on this
// machine, whatever its date is changed to.
type storeClock struct {
	ahead atomic.Int64 // of boottime, ns
}

// read looks at it.
func (c *storeClock) read(ctx context.Context, db *database.DB, q database.Querier) error {
	var reading int64
	from := boottime.Now()
	if err := q.QueryRowContext(ctx, `select `+clock(db)).Scan(&reading); err != nil {
		return fmt.Errorf("read the store's clock: %w", err)
	}
	c.note(time.Duration(reading)*time.Millisecond, from, boottime.Now())
	return nil
}

// note takes what the clock said between two times. What was noted before stays as long as it can be true: the clock goes
// evenly, however long an answer takes.
func (c *storeClock) note(reading, from, to time.Duration) {
	c.ahead.Store(min(max(c.ahead.Load(), int64(reading-to)), int64(reading+time.Millisecond-from)))
}

func (c *storeClock) now() time.Time { return time.Unix(0, int64(boottime.Now())+c.ahead.Load()) }

// Now is the store's clock, which is the same for all nodes; when the store cannot be asked, as it went on since. For times
// that are stored, or compared with stored ones.
func (l *Lease) Now() time.Time { return l.clock.now() }
