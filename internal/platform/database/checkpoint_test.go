package database

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// openLog opens a file with a table and a log bounded to logPages pages.
func openLog(t *testing.T, opts Options, logPages int) *DB {
	t.Helper()
	db, err := openSQLite(t.Context(), opts, logPages)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	write(t, db, `create table t (id integer primary key, v text)`)
	return db
}

func write(t *testing.T, db *DB, statement string, args ...any) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx Tx) error {
		_, err := tx.ExecContext(t.Context(), statement, args...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// commits makes n commits with a row each.
func commits(t *testing.T, db *DB, n int, value string) {
	t.Helper()
	for range n {
		write(t, db, `insert into t (v) values ($1)`, value)
	}
}

// The log is bounded under a steady writer and overlapping readers, so that the writer never finds the log unread. The
// writer waits for the checkpointer to run, which on a busy machine may be long after it was due.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	const (
		pageSize = 4096
		rounds   = 10
		perRow   = 4                                  // pages of the log, at least
		bound    = 200                                // pages
		slack    = 6 * checkpointEvery * (perRow + 2) // commits in between, even if a reader takes too long a few times in a row
		rows     = rounds * checkpointEvery
	)
	if bound+slack >= rows*perRow {
		t.Fatal("the test has no point")
	}
	path := filepath.Join(t.TempDir(), "log.db")
	reported := make(chan error, rounds+1)
	db := openLog(t, Options{Path: path, Synchronous: "NORMAL", Checkpointed: func(_ int, err error) { reported <- err }}, bound)
	value := strings.Repeat("x", perRow*pageSize)
	commits(t, db, 2, value)

	stop := make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	defer close(stop)
	ready := make(chan error)
	reading.Go(func() {
		previous := func() error { return nil }
		defer func() { _ = previous() }()
		for i := 0; ; i++ {
			rows, err := db.Read().QueryContext(t.Context(), `select id from t`) //nolint:sqlclosecheck // the next round closes it
			if err == nil && !rows.Next() {                                      // from here on it reads
				err = errors.Join(rows.Err(), errors.New("no row"))
			}
			if err != nil {
				t.Error(err)
			}
			_ = previous()
			if i == 0 {
				ready <- err
			}
			if err != nil {
				return
			}
			previous = rows.Close
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	if err := <-ready; err != nil {
		return
	}
	longest := int64(0)
	for range rounds {
		commits(t, db, checkpointEvery, value)
		if err := <-reported; err != nil {
			t.Error(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, info.Size()/pageSize)
	}
	t.Logf("the log had up to %d pages, of %d written", longest, rows*perRow)
	if longest > bound+slack {
		t.Errorf("the log has grown to %d pages, bound %d and %d until the checkpointer comes by", longest, bound, slack)
	}
}

// A reader that stays open keeps the log, and delays the writer only briefly and rarely. Its waits are bounded, and
// afterwards it has its normal busy timeout again.
func TestAReaderThatStaysDoesNotStopTheWriter(t *testing.T) {
	t.Parallel()
	reported := make(chan int, 16)
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db"), Synchronous: "NORMAL", Checkpointed: func(pages int, err error) {
		if err != nil {
			t.Error(err)
		}
		reported <- pages
	}}, 10)
	commits(t, db, 2, "x")
	rows, err := db.Read().QueryContext(t.Context(), `select id from t`)
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	commits(t, db, checkpointEvery, "x")
	if pages := <-reported; pages <= 10 {
		t.Errorf("the log has %d pages although it is read", pages)
	}
	var wait int
	if err := db.Update(t.Context(), func(tx Tx) error {
		return tx.QueryRowContext(t.Context(), `pragma busy_timeout`).Scan(&wait)
	}); err != nil || int64(wait) != busyTimeout.Milliseconds() {
		t.Errorf("the writer waits %d ms for others, %v", wait, err)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil { //nolint:sqlclosecheck // not at the end: what follows is about that
		t.Fatal(err)
	}
	commits(t, db, checkpointEvery, "x")
	if pages := <-reported; pages > 10 {
		t.Errorf("the log has still %d pages", pages)
	}
}

// A checkpoint that fails is reported, and the next one is tried.
func TestFailedCheckpointsAreReported(t *testing.T) {
	t.Parallel()
	reported := make(chan error, 16)
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db"),
		Checkpointed: func(_ int, err error) { reported <- err }}, writerPages)
	if err := db.checkpoints.pool.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		commits(t, db, checkpointEvery, "x")
		if err := <-reported; err == nil {
			t.Error("a checkpoint without a connection succeeded")
		}
	}
}

// Close waits for the checkpointer, and leaves neither a goroutine nor a log; a second Close is no error.
func TestCloseWaitsForTheCheckpointer(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	path := filepath.Join(t.TempDir(), "log.db")
	begun, let := make(chan struct{}), make(chan struct{})
	db := openLog(t, Options{Path: path, Checkpointed: func(int, error) {
		close(begun)
		<-let
	}}, writerPages)
	commits(t, db, checkpointEvery, "x")
	<-begun
	stopping, stop := make(chan struct{}), db.checkpoints.stop
	db.checkpoints.stop = sync.OnceFunc(func() { stop(); close(stopping) })
	closed := make(chan error, 2)
	go func() {
		closed <- db.Close()
		closed <- db.Close()
	}()
	<-stopping
	select {
	case err := <-closed:
		t.Errorf("closed (%v) while a checkpoint was under way", err)
	default:
	}
	close(let)
	for range 2 {
		if err := <-closed; err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is left: %v", err)
	}
	goleak.VerifyNone(t, ignore)
}
