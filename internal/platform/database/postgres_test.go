package database_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

const holdHead = `select pos from journal_head where id = 1 for update`

// Postgres aborts a transaction whose process is silent for too long. It fails with a retryable error, and nothing of
// it is stored. A process that is slow, not frozen, gets more time with each attempt, until it has committed.
func TestIdleTransactionIsAborted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	try := func(idle bool) (patience string, err error) {
		_, err = db.UpdateHolding(t.Context(), holdHead, func(tx database.Tx, _ []int64) (database.Last, error) {
			var pid int
			if err := tx.QueryRowContext(t.Context(),
				`select pg_backend_pid(), current_setting('idle_in_transaction_session_timeout')`).Scan(&pid,
				&patience); err != nil {
				return database.Last{}, err
			}
			if _, err := tx.ExecContext(t.Context(), `insert into journal_sequences (session_id, seq) values ($1, 1)`,
				"of "+patience); err != nil {
				return database.Last{}, err
			}
			for left := 1; idle && left > 0; {
				<-time.After(10 * time.Millisecond)
				if err := db.Read().QueryRowContext(t.Context(), `select count(*) from pg_stat_activity where pid = $1`, pid).
					Scan(&left); err != nil {
					return database.Last{}, err
				}
			}
			return database.Last{Query: `update journal_head set batch = $1 where id = 1`, Args: []any{"of " + patience}}, nil
		})
		return patience, err
	}
	for _, c := range []struct {
		idle     bool
		patience string
	}{{true, "1500ms"}, {true, "3s"}, {false, "6s"}, {false, "1500ms"}} {
		patience, err := try(c.idle)
		if patience != c.patience || (err != nil) != c.idle || c.idle && !database.Transient(err) {
			t.Errorf("with %s, want %s: %v", patience, c.patience, err)
		}
	}
	var stored, batch string
	err := db.Read().QueryRowContext(t.Context(),
		`select (select string_agg(session_id, ', ' order by session_id) from journal_sequences), batch from journal_head`).
		Scan(&stored, &batch)
	if err != nil || stored != "of 1500ms, of 6s" || batch != "of 1500ms" {
		t.Errorf("stored %q, %q: %v", stored, batch, err)
	}
}

// A statement sent with the commit fails like one sent before it: nothing is stored, and that is certain.
func TestStatementsThatAreSentLater(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	put := database.NewBulk(`insert into journal_sequences (session_id, seq) {rows}`, database.Text, database.Int)
	for name, fn := range map[string]func(tx database.Tx) (database.Last, error){
		"a write": func(tx database.Tx) (database.Last, error) {
			return database.Last{}, errors.Join(put.Exec(t.Context(), tx, []any{"lost", int64(1)}),
				put.Exec(t.Context(), tx, []any{"there", int64(1)}))
		},
		"a write before a question": func(tx database.Tx) (database.Last, error) {
			if err := put.Exec(t.Context(), tx, []any{"lost", int64(1), "there", int64(1)}); err != nil {
				return database.Last{}, err
			}
			return database.Last{}, tx.QueryRowContext(t.Context(), `select 1`).Scan(new(int))
		},
		"the last": func(tx database.Tx) (database.Last, error) {
			return database.Last{Query: `insert into journal_sequences (session_id, seq) values ('there', $1)`, Args: []any{1}},
				put.Exec(t.Context(), tx, []any{"lost", int64(1)})
		},
		"one whose error was dropped": func(tx database.Tx) (database.Last, error) {
			err := put.Exec(t.Context(), tx, []any{"lost", int64(1)})
			_, _ = tx.ExecContext(t.Context(), `insert into journal_sequences (session_id, seq) values ('there', 1)`)
			return database.Last{}, err
		},
	} {
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(),
				`insert into journal_sequences (session_id, seq) values ('there', 1) on conflict do nothing`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.UpdateHolding(t.Context(), holdHead, func(tx database.Tx, _ []int64) (database.Last, error) {
			return fn(tx)
		})
		if err == nil || errors.Is(err, database.ErrCommit) || database.Transient(err) ||
			name != "one whose error was dropped" && !strings.Contains(err.Error(), "23505") {
			t.Errorf("%s: %v", name, err)
		}
		var rows int
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from journal_sequences`).Scan(&rows); err != nil ||
			rows != 1 {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
	}
	// A query sees earlier writes, whether or not they have been sent.
	err := db.Update(t.Context(), func(tx database.Tx) error {
		if err := put.Exec(t.Context(), tx, []any{"new", int64(7)}); err != nil {
			return err
		}
		var seq int
		err := tx.QueryRowContext(t.Context(), `select seq from journal_sequences where session_id = 'new'`).Scan(&seq)
		if seq != 7 {
			t.Errorf("read %d", seq)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Only transactions that others wait for have timeouts: reads and migrations may take as long as they need. Timeouts in
// DATABASE_URL take precedence.
func TestTimeoutsOfConnections(t *testing.T) {
	t.Parallel()
	opts := dbtest.Options(t, database.Postgres)
	opts.URL += "&lock_timeout=7s"
	db := dbtest.Connect(t, opts)
	const question = `select current_setting('idle_in_transaction_session_timeout') || ' ' || ` +
		`current_setting('statement_timeout') || ' ' || current_setting('lock_timeout')`
	var write, read, raw string
	err := db.Update(t.Context(), func(tx database.Tx) error {
		return tx.QueryRowContext(t.Context(), question).Scan(&write)
	})
	err = errors.Join(err, db.Read().QueryRowContext(t.Context(), question).Scan(&read),
		db.Raw().QueryRowContext(t.Context(), question).Scan(&raw))
	if err != nil || write != "1500ms 5min 7s" || read != "1min 0 7s" || raw != "0 0 7s" {
		t.Errorf("writes %q, reads %q, others %q: %v", write, read, raw, err)
	}
}

// A statement that takes long is not mistaken for a lost connection, and neither is one that waits for a lock.
func TestALongStatementIsNoSilence(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	seconds := database.Silence.Seconds() + 1
	if _, err := db.Raw().ExecContext(t.Context(), `select pg_sleep($1)`, seconds); err != nil {
		t.Errorf("a statement of %v s: %v", seconds, err)
	}
	begun := make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `select pos from journal_head where id = 1 for update`)
			close(begun)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), `select pg_sleep($1)`, seconds)
			}
			return err
		})
	}()
	<-begun
	_, err := db.UpdateHolding(t.Context(), holdHead, func(database.Tx, []int64) (database.Last, error) {
		return database.Last{}, nil
	})
	if err := errors.Join(err, <-held); err != nil {
		t.Errorf("a transaction that waits for another one: %v", err)
	}
}

// Betas and distributions format their version differently.
func TestVersionsOfPostgres(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]int{"15.4": 15, "17.0 (Debian 17.0-1)": 17, "18beta1": 18, "19devel": 19,
		"16": 16} {
		if got, err := database.MajorVersion(said); err != nil || got != want {
			t.Errorf("%s is %d, %v", said, got, err)
		}
	}
	if _, err := database.MajorVersion("pg 17"); err == nil {
		t.Error("a version without a number is none")
	}
}
