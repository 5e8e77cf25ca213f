package database_test

import (
	"errors"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// An operator interrupts a commit's wait for the standby at the server. The commit does not count as replicated: the
// standby is checked.
func TestACommitWhoseStandbyWasNotWaitedForIsInDoubt(t *testing.T) {
	t.Parallel()
	pair := dbtest.NewPair(t)
	pair.Do(`create table kept (n int)`)
	db := dbtest.Connect(t, database.Options{URL: pair.Way().URL})
	write := func() error {
		return db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into kept values (1)`)
			return err
		})
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	pair.Isolate()
	committed := make(chan error, 1)
	go func() { committed <- write() }()
	var broken int
	if !polling.Until(time.Minute, func() bool {
		const breakOff = `select count(*) from (select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep') as broken`
		return db.Read().QueryRowContext(t.Context(), breakOff).Scan(&broken) == nil && broken > 0
	}) {
		t.Fatal("no commit waits for the standby")
	}
	if err := <-committed; !errors.Is(err, database.ErrCommit) || !database.Transient(err) {
		t.Errorf("the commit, which no standby has, ended with: %v", err)
	}
}
