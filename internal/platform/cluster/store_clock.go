package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"harness/internal/lib/boottime"
	"harness/internal/platform/database"
)

// storeClock estimates the store's clock, which is the same for all nodes, between two reads. It advances with this
// machine's time, independent of changes to its date.
type storeClock struct {
	ahead atomic.Int64 // difference to boottime, ns
}

// read reads the clock from the store.
func (c *storeClock) read(ctx context.Context, db *database.DB, q database.Querier) error {
	var reading int64
	from := boottime.Now()
	if err := q.QueryRowContext(ctx, `select `+clock(db)).Scan(&reading); err != nil {
		return fmt.Errorf("read the store's clock: %w", err)
	}
	c.note(time.Duration(reading)*time.Millisecond, from, boottime.Now())
	return nil
}

// note records a reading of the clock between two times. An earlier reading stays as long as it can be right: the clock
// runs evenly, however long an answer takes.
func (c *storeClock) note(reading, from, to time.Duration) {
	c.ahead.Store(min(max(c.ahead.Load(), int64(reading-to)), int64(reading+time.Millisecond-from)))
}

func (c *storeClock) now() time.Time { return time.Unix(0, int64(boottime.Now())+c.ahead.Load()) }

// Now returns the store's clock, which is the same for all nodes. When the store cannot be read, it returns the
// estimated time. It is for times that are stored, or compared with stored ones.
func (l *Lease) Now() time.Time { return l.clock.now() }
