package journal_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// heldHead is the head of a Postgres store while another process holds its lock.
type heldHead struct {
	t  *testing.T
	db *database.DB
	tx *sql.Tx
}

func holdHead(t *testing.T, db *database.DB) *heldHead {
	t.Helper()
	tx, err := db.Raw().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `select pos from journal_head where id = 1 for update`); err != nil {
		t.Fatal(err)
	}
	return &heldHead{t, db, tx}
}

// awaited returns when a number of transactions wait for the head.
func (h *heldHead) awaited(n int) {
	h.t.Helper()
	var pid int
	if err := h.tx.QueryRowContext(h.t.Context(), `select pg_backend_pid()`).Scan(&pid); err != nil {
		h.t.Fatal(err)
	}
	if !polling.Until(time.Minute, func() bool {
		return ask(h.t, h.db, `select count(*) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))`, pid) == n
	}) {
		h.t.Fatalf("there were never %d who wait for the head", n)
	}
}

func (h *heldHead) release() {
	h.t.Helper()
	if err := h.tx.Rollback(); err != nil {
		h.t.Fatal(err)
	}
}

// Units that arrive while a batch waits for the head join it, in order of arrival. A unit whose caller has left does
// not.
func TestABatchIsClosedOnceTheHeadIsHeld(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	units, outcomes := make(chan int, 8), make(chan error, 8)
	j := start(t, db, journal.Options{PollInterval: time.Hour, Hooks: journal.Hooks{Observe: func(n, _ int, _ time.Duration) { units <- n }}})
	held := holdHead(t, db)
	say := func(ctx context.Context, what string) {
		t.Helper()
		if err := j.Submit(ctx, func(context.Context, database.Tx) ([]journal.Event, error) {
			return []journal.Event{{SessionID: "s", Type: what}}, nil
		}, func(_ []journal.Record, err error) { outcomes <- err }); err != nil {
			t.Fatal(err)
		}
	}
	say(t.Context(), "first")
	held.awaited(1)
	leaving, leave := context.WithCancel(t.Context())
	say(t.Context(), "second")
	say(leaving, "left")
	say(t.Context(), "third")
	leave()
	held.release()
	if n := <-units; n != 3 {
		t.Errorf("%d units went together, want 3", n)
	}
	var left int
	for range 4 {
		if err := <-outcomes; errors.Is(err, context.Canceled) {
			left++
		} else if err != nil {
			t.Error(err)
		}
	}
	if left != 1 {
		t.Errorf("%d unit callbacks reported that they had left, want 1", left)
	}
	if types := typesOf(readAll(t, j)); !slices.Equal(types, []string{"first", "second", "third"}) {
		t.Errorf("stored are %q", types)
	}
}

// When a unit that joined during the wait spoils the transaction, each unit gets a separate one. No later unit runs in
// between.
func TestConcurrentUnitAffectsNoOther(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	j := start(t, db, journal.Options{PollInterval: time.Hour})
	outcomes := make(chan error, 8)
	submit := func(unit journal.Unit) {
		if err := j.Submit(t.Context(), unit, func(_ []journal.Record, err error) { outcomes <- err }); err != nil {
			t.Error(err)
		}
	}
	say := func(what string, then func()) journal.Unit {
		return func(context.Context, database.Tx) ([]journal.Event, error) {
			then()
			return []journal.Event{{SessionID: "s", Type: what}}, nil
		}
	}
	nothing := func() {}
	runs := 0
	held := holdHead(t, db)
	submit(say("first", func() {
		if runs++; runs == 2 { // it runs alone, and another unit arrives just then
			submit(say("last", nothing))
		}
	}))
	held.awaited(1)
	submit(func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `insert into no_such_table values (1)`)
		return nil, err
	})
	submit(say("second", nothing))
	held.release()
	failed := 0
	for range 4 {
		select {
		case err := <-outcomes:
			if err != nil {
				failed++
			}
		case <-time.After(time.Minute):
			t.Fatal("they did not go together: one did not run twice")
		}
	}
	if failed != 1 {
		t.Errorf("%d units failed, want 1", failed)
	}
	if types := typesOf(readAll(t, j)); !slices.Equal(types, []string{"first", "second", "last"}) {
		t.Errorf("stored are %q", types)
	}
}

func typesOf(records []journal.Record) []string {
	types := make([]string, len(records))
	for i := range records {
		types[i] = records[i].Type
	}
	return types
}
