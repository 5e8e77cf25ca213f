package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"harness/internal/platform/database/wal"
)

// Committed is a committed transaction. The zero value is already durable.
type Committed struct {
	log    *logSync // nil when nothing is left to wait for
	number int64
	server string
}

// Server returns the Conn.Server of the transaction, "" when unknown.
func (c Committed) Server() string { return c.server }

// Synced returns when the transaction survives a loss of power; until then its effects must not be published. After an
// error, which is Transient, it may be called again any number of times.
func (c Committed) Synced(ctx context.Context) error {
	if c.log == nil {
		return nil
	}
	return c.log.await(ctx, c.number)
}

// Certain reports whether Synced need not wait.
func (c Committed) Certain() bool { return c.log == nil || c.log.synced.Load() >= c.number }

// SyncError means that SQLite's log could not be synced.
type SyncError struct{ Err error }

func (e *SyncError) Error() string { return fmt.Sprintf("sync the log: %v", e.Err) }

// Unwrap returns the system's error.
func (e *SyncError) Unwrap() error { return e.Err }

// logSync syncs SQLite's log concurrently with the writer. With synchronous=FULL SQLite would sync within COMMIT and
// block the only writer. The writer's connection therefore has synchronous=NORMAL, with which SQLite syncs only where
// the order of its own writes requires it. Each commit is synced here, together with all earlier ones. In whatever
// order the disk writes it, the log is valid up to its last complete commit.
type logSync struct {
	committed, synced atomic.Int64 // numbers of transactions
	// failing is set after a failed sync, until restore has written the whole log to the database. After a failure the
	// system may treat unwritten data as written.
	failing atomic.Bool
	restore func(ctx context.Context) error
	sync    func(file *os.File) error
	// unmarked is Options.Unmarked.
	unmarked func(err error)
	// ends is the end of the last transaction in the log.
	ends atomic.Pointer[wal.Mark]
	// turn holds a token while no goroutine syncs. The holder owns these: file, the log; marker, which records how much
	// of it is synced; lost, the salt of a log whose sync failed; behind, whether the last record failed.
	turn   chan struct{}
	file   *os.File
	marker *wal.Marker
	lost   uint64
	behind bool
}

func newLogSync(opts Options, restore func(ctx context.Context) error) *logSync {
	if opts.Sync == nil {
		opts.Sync = (*os.File).Sync
	}
	if opts.Unmarked == nil {
		opts.Unmarked = func(error) {}
	}
	l := &logSync{restore: restore, sync: opts.Sync, unmarked: opts.Unmarked, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	return l
}

// open opens the log of an open connection: it stays the same file while the connection is open.
func (l *logSync) open(database string) error {
	file, err := os.OpenFile(database+"-wal", os.O_RDWR, 0)
	if err != nil {
		return &SyncError{err}
	}
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if l.file != nil {
		_ = l.file.Close() // nothing was written through it
	}
	l.file = file
	if l.marker == nil {
		l.marker, err = wal.OpenMarker(database)
	}
	return err
}

// note counts a committed transaction and records its end in the log.
func (l *logSync) note(log wal.Mark) Committed {
	l.ends.Store(&log)
	return Committed{log: l, number: l.committed.Add(1)}
}

// await returns when a transaction is on disk. Its caller must not hold the writer's turn.
func (l *logSync) await(ctx context.Context, number int64) error {
	if l.synced.Load() < number && l.failing.Load() {
		if err := l.restore(ctx); err != nil {
			return &SyncError{err}
		}
	}
	return l.join(ctx, number)
}

// join syncs the log at least up to a transaction. A caller that arrives during a sync waits for it, and then syncs the
// commits made during that sync.
func (l *logSync) join(ctx context.Context, number int64) error {
	if l.synced.Load() >= number {
		return nil
	}
	select {
	case <-l.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	all := l.committed.Load()
	switch {
	case l.synced.Load() >= number:
		return nil
	case l.failing.Load():
		return &SyncError{errors.New("it failed before")}
	}
	end := l.ends.Load()
	if err := l.sync(l.file); err != nil {
		l.failing.Store(true)
		if end != nil {
			l.lost = end.Salt
		}
		return &SyncError{err}
	}
	l.writeMark(end)
	l.synced.Store(all)
	return nil
}

// writeMark records how much of the log is synced. After a failed sync nothing is known about a log, because the system
// may treat unwritten data as written. Without the record, damage to the log looks like its end, but nothing else
// fails. An error is therefore reported once per outage, and does not fail a commit.
func (l *logSync) writeMark(end *wal.Mark) {
	if end != nil && end.Salt != l.lost {
		err := l.marker.Put(*end)
		if err != nil && !l.behind {
			l.unmarked(err)
		}
		l.behind = err != nil
	}
}

// restored records that the whole log was written to the database. Its caller holds the writer's turn.
func (l *logSync) restored() {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	l.synced.Store(l.committed.Load())
	l.failing.Store(false)
}

// visible waits until all data that a reader may have seen is on disk. While syncing fails, readers do not wait: the
// sync is retried until it succeeds.
func (l *logSync) visible(ctx context.Context) error {
	number := l.committed.Load()
	if l.synced.Load() >= number || l.failing.Load() {
		return nil
	}
	err := l.join(ctx, number)
	if errors.As(err, new(*SyncError)) {
		return nil
	}
	return err
}

func (l *logSync) close() error {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	if l.file == nil {
		return nil
	}
	_, err := os.Stat(l.file.Name())
	gone := errors.Is(err, fs.ErrNotExist) // the whole log was moved into the database
	err = errors.Join(l.file.Close(), l.marker.Close(gone))
	l.file = nil
	return err
}
