package database_test

import (
	"context"
	"errors"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// All reads of a snapshot see the same state: commits in between are not visible, however often it reads.
func TestASnapshotKeepsToOneState(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		write := func(statement string) {
			t.Helper()
			err := db.Update(t.Context(), func(tx database.Tx) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		count := func(ctx context.Context, q database.Querier) (n int) {
			t.Helper()
			if err := q.QueryRowContext(ctx, `select count(*) from journal_sequences`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for round := range 3 { // from the second on the statements are prepared
			var first, second int
			err := db.Snapshot(t.Context(), func(q database.Querier) error {
				first = count(t.Context(), q)
				write(`insert into journal_sequences (session_id, seq) select 's' || (count(*) + 1), 1 from journal_sequences`)
				second = count(t.Context(), q)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if after := count(t.Context(), db.Read()); first != round || second != round || after != round+1 {
				t.Errorf("round %d: the snapshot saw %d, then %d; afterwards there are %d", round, first, second, after)
			}
		}
	})
}

// OB-17: a read that ends with its context says so, whatever the driver reports: the client is gone, and nothing failed.
func TestAReadThatEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		closed := func(row database.Row) error {
			cancel()
			for { // until the rows are closed
				var n int64
				if err := row.Scan(&n); err != nil {
					return err
				}
			}
		}
		err := db.Snapshot(ctx, func(q database.Querier) error {
			return database.ReadEach(ctx, q, "read numbers", closed, `select 1 union all select 2`)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}
