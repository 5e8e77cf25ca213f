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

// Committed is a transaction that took effect. The zero value survives whatever a commit does.
type Committed struct {
	log    *logSync // nil when nothing is left to wait for
	number int64
	server string
}

// Server is Conn.Server of where the transaction was made, "" when that is not known.
func (c Committed) Server() string { return c.server }

// Synced returns when the transaction survives loss of power: until then its effects must not be published.
// After an error, which is Transient, it may be called again, for as long as that takes.
func (c Committed) Synced(ctx context.Context) error {
	if c.log == nil {
		return nil
	}
	return c.log.await(ctx, c.number)
}

// Certain reports that Synced need not wait.
func (c Committed) Certain() bool { return c.log == nil || c.log.synced.Load() >= c.number }

// SyncError says that SQLite's log could not be brought to the disk.
type SyncError struct{ Err error }

func (e *SyncError) Error() string { return fmt.Sprintf("sync the log: %v", e.Err) }

// Unwrap is what the system said.
func (e *SyncError) Unwrap() error { return e.Err }

// logSync brings SQLite's log to the disk beside the writer. With synchronous=FULL SQLite does so within COMMIT, and
// the writer, which is one for all, stands still meanwhile; so its connection has synchronous=NORMAL, with which SQLite
// syncs where the order of its own writes depends on it, and each commit is synced here, together with those made until
// then. The log is valid up to its last whole commit, whatever of it reached the disk in which order.
type logSync struct {
	committed, synced atomic.Int64 // numbers of transactions
	// failing is set from a sync that failed until restore, which writes all that is in the log to the database, did not:
	// the system may take for written what is not, once it has said so.
	failing atomic.Bool
	restore func(ctx context.Context) error
	sync    func(file *os.File) error
	// unmarked is Options.Unmarked.
	unmarked func(err error)
	// ends is how far the log went with the last transaction.
	ends atomic.Pointer[wal.Mark]
	// turn holds a token while no goroutine syncs. The holder owns these: file, the log; marker, which records
	// how much of it is synced; lost, the salt of a log whose sync failed; behind, that the last record failed.
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

// open takes the log of a connection that is open: it stays the same file for as long as that is.
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

// note counts a transaction that took effect, and notes how far the log goes with it.
func (l *logSync) note(log wal.Mark) Committed {
	l.ends.Store(&log)
	return Committed{log: l, number: l.committed.Add(1)}
}

// await returns when a transaction is on the disk. Its caller does not have the writer's turn.
func (l *logSync) await(ctx context.Context, number int64) error {
	if l.synced.Load() < number && l.failing.Load() {
		if err := l.restore(ctx); err != nil {
			return &SyncError{err}
		}
	}
	return l.join(ctx, number)
}

// join syncs the log up to a transaction at least: who comes while another syncs waits for it, and syncs what was
// committed meanwhile.
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
	l.mark(end)
	l.synced.Store(all)
	return nil
}

// mark notes how much of the log is synced. Of one of which a sync failed nothing is known any more: the system may take
// for written what is not. Without the note damage to the log looks like its end, and nothing else is wrong, so an error
// does not fail a commit, and is reported, once until it goes well again.
func (l *logSync) mark(end *wal.Mark) {
	if end != nil && end.Salt != l.lost {
		err := l.marker.Put(*end)
		if err != nil && !l.behind {
			l.unmarked(err)
		}
		l.behind = err != nil
	}
}

// restored notes that all there is was written to the database. Its caller has the writer's turn.
func (l *logSync) restored() {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	l.synced.Store(l.committed.Load())
	l.failing.Store(false)
}

// seen waits for what a reader may have seen to be on the disk. While that fails readers are not held up: what they see
// is held and tried again until it is there.
func (l *logSync) seen(ctx context.Context) error {
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
	gone := errors.Is(err, fs.ErrNotExist) // all of it was moved into the database
	err = errors.Join(l.file.Close(), l.marker.Close(gone))
	l.file = nil
	return err
}
