package journal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
)

// syncing returns a SQLite store whose log is synced by a function.
func syncing(t *testing.T, sync func(log *os.File) error) *database.DB {
	t.Helper()
	db := dbtest.Connect(t, database.Options{Path: filepath.Join(t.TempDir(), "harness.db"), Sync: sync})
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	return db
}

// While a transaction is being synced, the next one runs. Subscribers get neither before it is synced, and ephemeral
// events in between keep their order.
func TestTheNextTransactionRunsWhileOneIsSynced(t *testing.T) {
	t.Parallel()
	var holding atomic.Bool
	asked, let := make(chan struct{}, 64), make(chan struct{})
	db := syncing(t, func(log *os.File) error {
		if holding.Load() {
			asked <- struct{}{}
			<-let
		}
		return log.Sync()
	})
	j := start(t, db, journal.Options{})
	received := make(chan string, 16)
	j.Subscribe(func(records []journal.Record) {
		for _, r := range records {
			received <- r.Type
		}
	})
	j.SubscribeEphemeral(func(events []journal.Event) {
		for _, e := range events {
			received <- e.Type
		}
	})
	ran, acknowledged, busy := make(chan string, 16), make(chan string, 16), make(chan struct{})
	say := func(name string) {
		t.Helper()
		err := j.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
			ran <- name
			<-busy
			return []journal.Event{{SessionID: "s", Type: name}}, nil
		}, func(_ []journal.Record, err error) {
			if err != nil {
				t.Error(err)
			}
			acknowledged <- name
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	say("first")
	<-ran
	holding.Store(true)
	say("second") // the writer need not wait for it
	close(busy)
	<-asked
	if got := <-ran; got != "second" {
		t.Fatalf("%s ran", got)
	}
	if err := j.PublishEphemeral(t.Context(), journal.Event{SessionID: "s", Type: "ephemeral"}); err != nil {
		t.Fatal(err)
	}
	say("third")
	select {
	case name := <-acknowledged:
		t.Errorf("%s was acknowledged before it was synced", name)
	case name := <-received:
		t.Errorf("%s was published before it was synced", name)
	default:
	}
	if j.Head() != 0 {
		t.Errorf("the head is at %d", j.Head())
	}
	holding.Store(false)
	close(let)
	for _, want := range []string{"first", "second", "ephemeral", "third"} {
		if got := <-received; got != want {
			t.Errorf("received %s, want %s", got, want)
		}
	}
	for _, want := range []string{"first", "second", "third"} {
		if got := <-acknowledged; got != want {
			t.Errorf("%s was acknowledged, want %s", got, want)
		}
	}
	requireGapFree(t, readAll(t, j))
}

// A transaction that cannot be synced is held like one that the store refuses. It is not acknowledged, callers may
// leave, and it is neither lost nor stored twice.
func TestALogThatCannotBeSyncedIsOutwaited(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	db := syncing(t, func(log *os.File) error {
		if failing.Load() {
			return &os.PathError{Op: "sync", Path: log.Name(), Err: syscall.EIO}
		}
		return log.Sync()
	})
	// An open reader keeps an old state while the log fails, so the log cannot be checkpointed, either.
	j := start(t, db, journal.Options{})
	if _, err := j.Append(t.Context(), journal.Event{SessionID: "s", Type: "before"}); err != nil {
		t.Fatal(err)
	}
	reading, release := make(chan struct{}), make(chan struct{})
	read := make(chan error, 1)
	go func() {
		read <- db.Snapshot(t.Context(), func(q database.Querier) error {
			err := q.QueryRowContext(t.Context(), `select pos from journal_head`).Scan(new(int64))
			close(reading)
			<-release
			return err
		})
	}()
	<-reading
	failing.Store(true)
	const n = 5
	stored := make(chan error, n)
	for i := range n {
		event := journal.Event{SessionID: "s", Type: fmt.Sprint(i)}
		err := j.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
			return []journal.Event{event}, nil
		},
			func(_ []journal.Record, err error) { stored <- err })
		if err != nil {
			t.Fatal(err)
		}
	}
	var outage *journal.OutageError
	if _, err := j.Append(journal.Patient(t.Context(), 50*time.Millisecond),
		journal.Event{SessionID: "s", Type: "left"}); !errors.As(err, &outage) {
		t.Fatalf("a waiting caller gets %v", err)
	}
	if !errors.Is(outage, syscall.EIO) && outage.Cause == nil {
		t.Errorf("the cause is %v", outage.Cause)
	}
	if err := j.AwaitWrites(journal.Patient(t.Context(), time.Millisecond)); !errors.As(err, &outage) {
		t.Errorf("a new caller gets %v", err)
	}
	select {
	case err := <-stored:
		t.Fatalf("acknowledged although nothing was synced: %v", err)
	default:
	}
	failing.Store(false)
	close(release)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := <-stored; err != nil {
			t.Error(err)
		}
	}
	if err := j.AwaitWrites(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := j.Append(t.Context(), journal.Event{SessionID: "s", Type: "after"}); err != nil {
		t.Fatal(err)
	}
	records := readAll(t, j)
	requireGapFree(t, records)
	count := map[string]int{}
	for _, r := range records {
		count[r.Type]++
	}
	for i := range n {
		if count[fmt.Sprint(i)] != 1 {
			t.Errorf("event %d is stored %d times", i, count[fmt.Sprint(i)])
		}
	}
	if count["before"] != 1 || count["after"] != 1 || j.Outage() != nil {
		t.Errorf("stored %v, outage %v", count, j.Outage())
	}
}
