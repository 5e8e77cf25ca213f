package database

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
)

// However an Update ends, it leaves no transaction open: the next one starts, sees nothing of it, and commits.
func TestNoTransactionIsLeftOpen(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	ended, end := context.WithCancel(t.Context())
	for name, spoil := range map[string]struct {
		ctx    context.Context //nolint:containedctx // of a case
		fn     func(tx Tx) error
		want   error
		commit bool // it failed at its commit
	}{
		"error":    {fn: func(Tx) error { return boom }, want: boom},
		"canceled": {ctx: ended, fn: func(Tx) error { end(); return nil }, want: context.Canceled},
		"canceled before a statement": {ctx: ended, fn: func(tx Tx) error {
			end()
			return tx.QueryRowContext(t.Context(), `select 1`).Scan(new(int))
		}, want: context.Canceled},
		"refused commit": {fn: func(tx Tx) error {
			_, err := tx.ExecContext(t.Context(), `insert into child (parent) values (7)`)
			return err
		}, want: ErrCommit, commit: true},
		"ended behind our back": {fn: func(tx Tx) error {
			_, err := tx.ExecContext(t.Context(), `rollback`)
			return errors.Join(boom, err)
		}, want: boom},
		"committed behind our back": {fn: func(tx Tx) error {
			_, err := tx.ExecContext(t.Context(), `rollback`)
			return err
		}, want: ErrCommit, commit: true},
	} {
		t.Run(name, func(t *testing.T) {
			db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db")}, writerPages)
			setup(t, db)
			ctx := t.Context()
			if spoil.ctx != nil {
				ctx = spoil.ctx
			}
			err := db.Update(ctx, func(tx Tx) error {
				if ctx.Err() == nil {
					if _, err := tx.ExecContext(t.Context(), `insert into t (v) values ('lost')`); err != nil {
						return err
					}
				}
				return spoil.fn(tx)
			})
			if !errors.Is(err, spoil.want) || errors.Is(err, ErrCommit) != spoil.commit {
				t.Errorf("the error is %v", err)
			}
			expectOnly(t, db, "kept after "+name)
		})
	}
}

func TestAPanicLeavesNoTransactionOpen(t *testing.T) {
	t.Parallel()
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db")}, writerPages)
	setup(t, db)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.Update(t.Context(), func(tx Tx) error {
			if _, err := tx.ExecContext(t.Context(), `insert into t (v) values ('lost')`); err != nil {
				t.Error(err)
			}
			panic("defect")
		})
	}()
	expectOnly(t, db, "kept after a panic")
}

// A caller waiting for the writer leaves when its context ends, and any number of different statements uses bounded
// memory.
func TestTheWriterIsWaitedForAndForgets(t *testing.T) {
	t.Parallel()
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db")}, writerPages)
	setup(t, db)
	if err := db.Update(t.Context(), func(tx Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := db.Update(ctx, func(Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a second writer got %v", err)
		}
		for i := range maxStatements + 1 {
			if _, err := tx.ExecContext(t.Context(), `select `+strconv.Itoa(i)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, db, "kept after many statements")
	if kept := db.writer.lite.Statements(); kept > 8 {
		t.Errorf("%d statements are kept", kept)
	}
}

// Tools have a separate connection. After they change the tables, the writer continues with statements prepared before
// that.
func TestToolsChangeTablesBesideTheWriter(t *testing.T) {
	t.Parallel()
	db := openLog(t, Options{Path: filepath.Join(t.TempDir(), "log.db")}, writerPages)
	setup(t, db)
	expectOnly(t, db, "kept before")
	if _, err := db.Raw().ExecContext(t.Context(), `alter table t add column more text`); err != nil {
		t.Fatal(err)
	}
	expectOnly(t, db, "kept before", "kept after")
}

func setup(t *testing.T, db *DB) {
	t.Helper()
	for _, text := range []string{
		`create table if not exists t (id integer primary key, v text not null)`,
		`create table if not exists parents (id integer primary key)`,
		`create table if not exists child (parent integer references parents (id) deferrable initially deferred)`,
	} {
		if _, err := db.Raw().ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// expectOnly stores the last value, and expects exactly the given values.
func expectOnly(t *testing.T, db *DB, want ...string) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx Tx) error {
		_, err := tx.ExecContext(t.Context(), `insert into t (v) values ($1)`, want[len(want)-1])
		return err
	}); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Read().QueryContext(t.Context(), `select v from t order by id`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for i := 0; rows.Next(); i++ {
		var got sql.NullString
		if err := rows.Scan(&got); err != nil || i >= len(want) || got.String != want[i] {
			t.Errorf("row %d is %q, %v", i, got.String, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}
