package database_test

import (
	"testing"
	"time"

	"harness/database"
	"harness/internal/dbtest"
	"harness/internal/polling"
)

// After a network has swallowed everything, a primary that the URL names second is found again: that the first one takes
// no writes is no reason not to ask the other.
func TestThePrimaryIsFoundBehindAnotherHost(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	way := pair.Way()
	former := pair.Primary()
	pair.Promote()
	pair.Kill(former)
	pair.Follow() // the first host is a standby now
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
