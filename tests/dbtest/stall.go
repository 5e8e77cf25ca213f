package dbtest

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/polling"
)

// Stall is a store in which no update of a chosen table ends. A server killed during such an update has not done it,
// and nothing after it. It works on both engines.
type Stall struct {
	t      testing.TB
	db     *sql.DB
	engine database.Engine
	lock   string
}

// NewStall opens a store, even while a server runs on it.
func NewStall(t testing.TB, opts database.Options) *Stall {
	t.Helper()
	s := &Stall{t: t, engine: database.Postgres, lock: strconv.FormatUint(rand.Uint64()>>2, 10)}
	driver, source := "pgx", opts.URL
	if opts.URL == "" {
		s.engine, driver, source = database.SQLite, "sqlite", "file:"+opts.Path+"?_pragma=busy_timeout(10000)"
	}
	var err error
	if s.db, err = sql.Open(driver, source); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Updates stalls the updates of a table from now on. While a server runs, it works only on Postgres.
func (s *Stall) Updates(table string) {
	s.t.Helper()
	if s.engine == database.Postgres {
		s.do(`create function stall() returns trigger language plpgsql as $$
			begin perform pg_advisory_lock(` + s.lock + `); perform pg_sleep(600); return new; end $$`)
		s.do(`create trigger stall before update on ` + table + ` for each row execute function stall()`)
		return
	}
	s.do(`create table stall_rows (n)`)
	s.do(`insert into stall_rows with recursive c(n) as (select 1 union all select n + 1 from c where n < 10000) select n from c`)
	s.do(`create trigger stall before update on ` + table + ` begin
		select count(*) from stall_rows a, stall_rows b, stall_rows c, stall_rows d; end`)
}

// End unblocks updates. Stalled updates of a killed server are rolled back.
func (s *Stall) End() {
	s.t.Helper()
	if s.engine == database.SQLite {
		s.do(`drop trigger stall`)
		s.do(`drop table stall_rows`)
		return
	}
	if !polling.Until(30*time.Second, func() bool { // statements that a server sent before it was killed may only now start to stall
		s.do(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and
			(classid::bigint << 32) + objid::bigint = ` + s.lock)
		return s.try(`do $$ begin set local lock_timeout = '500ms'; drop function stall() cascade; end $$`) == nil
	}) {
		s.t.Fatal("updates stall on")
	}
}

// Count returns the number that a query selects.
func (s *Stall) Count(query string, args ...any) (n int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (s *Stall) do(statement string) {
	s.t.Helper()
	if err := s.try(statement); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func (s *Stall) try(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := s.db.ExecContext(ctx, statement)
	return err
}
