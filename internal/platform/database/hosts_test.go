package database_test

import (
	"context"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// After a network has dropped all packets, a primary that the URL names second is found again. The first server accepts
// no writes, which is no reason not to try the second.
func TestThePrimaryIsFoundBehindAnotherHost(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	way := pair.Way()
	former := pair.Primary()
	pair.Promote()
	pair.Kill(former)
	pair.Follow() // the first host is now a standby
	db := dbtest.Connect(t, database.Options{URL: way.URL})
	write := func() error {
		return db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `create temporary table written (id int) on commit drop`)
			return err
		})
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	for member := range 2 {
		way.Link(member).Swallow(dbtest.Both)
	}
	if err := write(); err == nil {
		t.Fatal("a write came through a network that swallows everything")
	}
	for member := range 2 {
		way.Link(member).Mend()
	}
	began := time.Now()
	if !polling.Until(20*time.Second, func() bool { return write() == nil }) {
		t.Fatalf("the primary is not found %s after the network works again", time.Since(began).Round(time.Second))
	}
}

// Callers wait only once for an unresponsive primary whose connections are still open: it gets no further request
// before it answers. The new primary gets writes as soon as it is known, and each new connection is made at once.
func TestUnresponsivePrimaryIsSkipped(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	way := pair.Way()
	former := pair.Primary()
	if former != 0 {
		t.Fatal("the primary is to be named first")
	}
	db := dbtest.Connect(t, database.Options{URL: way.URL})
	write := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // like a caller whose requests have a time limit
		defer cancel()
		return db.Update(ctx, func(tx database.Tx) error {
			_, err := tx.ExecContext(ctx, `create temporary table written (id int) on commit drop`)
			return err
		})
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	way.Link(former).Swallow(dbtest.Both)
	began := time.Now()
	pair.Promote()
	if !polling.Until(30*time.Second, func() bool { return write() == nil }) {
		t.Fatal("the primary that took over is not found")
	}
	took := time.Since(began)
	t.Logf("%s after the primary fell silent a write is done", took.Round(time.Millisecond))
	if limit := database.Silence + database.ProbeTimeout + 5*time.Second; took > limit {
		t.Errorf("a write took %s, at most %s are needed to find out", took, limit)
	}
	for range 3 {
		began := time.Now()
		channel, err := db.OpenChannel(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a new connection took %s: the silent primary was waited for", took)
		}
		if err := channel.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	way.Link(former).Mend()
	pair.Kill(1 - former)
	if !polling.Until(30*time.Second, func() bool {
		return db.Read().QueryRowContext(t.Context(), `select 1`).Scan(new(int)) == nil
	}) {
		t.Fatal("the one that was silent answers, and is not asked")
	}
}
