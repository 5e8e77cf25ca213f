package database_test

import (
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// A server may become read-only under open connections, as a demoted server behind an address does. That is an outage
// and not the transaction's fault. The remaining connections to it are dropped, so a retry reaches the server that
// accepts writes. Reads continue during that time.
func TestConnectionsToDemotedServerAreDropped(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	// Every connection for writing is open, and its server no longer accepts writes.
	const conns = 4
	var demoted, done sync.WaitGroup
	demoted.Add(conns)
	for range conns {
		done.Go(func() {
			err := db.Update(t.Context(), func(tx database.Tx) error {
				_, err := tx.ExecContext(t.Context(), `set session characteristics as transaction read only`)
				demoted.Done()
				demoted.Wait()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	write := func() error {
		return db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into journal_sequences (session_id, seq) values ('s', 1)`)
			return err
		})
	}
	if err := write(); !database.Transient(err) {
		t.Fatalf("a write to a server that was demoted: %v", err)
	}
	if err := db.Read().QueryRowContext(t.Context(), `select 1`).Scan(new(int)); err != nil {
		t.Errorf("a read meanwhile: %v", err)
	}
	if err := write(); err != nil {
		t.Fatalf("the same write again: %v", err)
	}
	var stored int
	if err := db.Read().QueryRowContext(t.Context(), `select count(*) from journal_sequences`).Scan(&stored); err != nil || stored != 1 {
		t.Errorf("%d rows are stored: %v", stored, err)
	}
}
