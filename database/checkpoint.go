package database

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
)

// writerPages is how long the log may grow before the writer itself moves it into the database, in pages. The checkpointer keeps it far
// shorter unless the writer never pauses; then this is what bounds the file (64 MiB), and most of the pages are moved already.
const writerPages = 16_000

// checkpointEvery is how many commits go by between two checkpoints.
const checkpointEvery = 128

// checkpointer moves SQLite's log into the database beside the writer, which would otherwise stop for it while commits wait.
// Commits are durable in the log before and after.
type checkpointer struct {
	pool    *sql.DB
	commits atomic.Int64
	due     chan struct{}
	stop    context.CancelFunc
	gone    chan struct{}
}

func startCheckpointer(path string) (*checkpointer, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, fmt.Errorf("open %s for checkpoints: %w", path, err)
	}
	pool.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancel(context.Background())
	c := &checkpointer{pool: pool, due: make(chan struct{}, 1), stop: cancel, gone: make(chan struct{})}
	go c.run(ctx)
	return c, nil
}

func (c *checkpointer) run(ctx context.Context) {
	defer close(c.gone)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.due:
			// A checkpoint that did not come about is made up for by the next or by the writer.
			_, _ = c.pool.ExecContext(ctx, `pragma wal_checkpoint(passive)`)
		}
	}
}

// committed is told each commit of the writer.
func (c *checkpointer) committed() {
	if c.commits.Add(1)%checkpointEvery != 0 {
		return
	}
	select {
	case c.due <- struct{}{}:
	default: // one is due already
	}
}

func (c *checkpointer) close() error {
	c.stop()
	<-c.gone
	return c.pool.Close()
}
