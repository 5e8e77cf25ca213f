package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"harness/internal/lib/wake"
)

// writerPages is how long the log may grow, in pages, before the writer itself moves it into the database. The
// checkpointer keeps the log far shorter unless the writer never pauses. In that case this limit bounds the file (64
// MiB), and most of the pages have already been moved.
const writerPages = 16_000

const (
	// checkpointEvery is the number of commits between two checkpoints. A commit counts once more for every
	// checkpointBytes it writes.
	checkpointEvery = 128
	checkpointBytes = 32 << 10
	// restartWait bounds how long the writer waits for readers, once the log is over its bound.
	restartWait = 250 * time.Millisecond
)

// checkpointer moves SQLite's log into the database concurrently with the writer, which would otherwise delay commits
// for it. Commits are durable in the log before and after.
type checkpointer struct {
	pool    *sql.DB
	writer  *writer
	pages   int // the log's bound
	report  func(pages int, err error)
	commits atomic.Int64
	due     wake.Signal
	stop    context.CancelFunc
	gone    chan struct{}
}

func startCheckpointer(opts Options, writer *writer, pages int) (*checkpointer, error) {
	pool, err := sql.Open("sqlite", sqliteDSN(opts.Path))
	if err != nil {
		return nil, fmt.Errorf("open %s for checkpoints: %w", opts.Path, err)
	}
	pool.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancel(context.Background())
	c := &checkpointer{
		pool: pool, writer: writer, pages: pages, report: opts.Checkpointed, due: wake.New(), stop: cancel,
		gone: make(chan struct{}),
	}
	if c.report == nil {
		c.report = func(int, error) {}
	}
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
		}
		pages, _, err := checkpoint(ctx, c.pool, "passive")
		if err == nil && pages > c.pages {
			pages, err = c.restart(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		c.report(pages, err)
	}
}

// restart makes the writer restart the log. SQLite does so by itself when no reader uses the log, but many readers
// always include one, and the log would grow without bound. The writer waits for the current readers; later readers use
// the database, which then has all the data.
func (c *checkpointer) restart(ctx context.Context) (pages int, err error) {
	err = c.writer.with(ctx, func(conn *sql.Conn) (err error) {
		pages, _, err = impatiently(ctx, conn, "truncate")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("restart the log: %w", err)
	}
	return pages, nil
}

// EmptyLog moves SQLite's log into the database and empties it, so that no deleted data remains in it. It returns
// false when readers prevented that; try again.
func (db *DB) EmptyLog(ctx context.Context) (bool, error) {
	if db.checkpoints == nil {
		return true, nil
	}
	pages, err := db.checkpoints.restart(ctx)
	return pages == 0, err
}

// moveAll moves the whole log into the database.
func moveAll(ctx context.Context, conn *sql.Conn) error {
	pages, moved, err := impatiently(ctx, conn, "full")
	if err == nil && moved < pages {
		err = fmt.Errorf("only %d of %d pages of the log were moved", moved, pages)
	}
	return err
}

// impatiently runs a checkpoint that waits at most restartWait for other connections.
func impatiently(ctx context.Context, conn *sql.Conn, mode string) (pages, moved int, err error) {
	if err := patience(ctx, conn, restartWait); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, patience(context.WithoutCancel(ctx), conn, busyTimeout)) }()
	return checkpoint(ctx, conn, mode)
}

// patience sets how long a connection waits for others.
func patience(ctx context.Context, conn *sql.Conn, wait time.Duration) error {
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("pragma busy_timeout = %d", wait.Milliseconds())); err != nil {
		return fmt.Errorf("set the patience of the writer: %w", err)
	}
	return nil
}

// checkpoint returns how many pages the log then has, and how many of them have been moved. Moving only some of them is
// not an error: the next checkpoint continues.
func checkpoint(ctx context.Context, on Querier, mode string) (pages, moved int, err error) {
	var busy int
	if err := on.QueryRowContext(ctx, "pragma wal_checkpoint("+mode+")").Scan(&busy, &pages, &moved); err != nil {
		return 0, 0, fmt.Errorf("move the log into the database: %w", err)
	}
	return pages, moved, nil
}

// committed is called after each commit of the writer, with roughly the number of bytes that it wrote.
func (c *checkpointer) committed(bytes int) {
	counts := int64(1 + bytes/checkpointBytes)
	if now := c.commits.Add(counts); now/checkpointEvery == (now-counts)/checkpointEvery {
		return
	}
	c.due.Set()
}

func (c *checkpointer) close() error {
	c.stop()
	<-c.gone
	return c.pool.Close()
}
