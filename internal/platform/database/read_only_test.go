package database_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// A read-only store reads every commit, including those still in the log of a writer. It creates no file, and writes
// nothing.
func TestOpenReadOnlyChangesNothing(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		opts := dbtest.Options(t, engine)
		if engine == database.SQLite {
			if _, err := database.OpenReadOnly(t.Context(), opts); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing file: %v", err)
			}
			if _, err := os.Stat(opts.Path); err == nil {
				t.Error("it is made")
			}
		}
		db := dbtest.Connect(t, opts)
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `create table seen (n bigint)`)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), `insert into seen values (7)`)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := database.OpenReadOnly(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := reader.Read().QueryRowContext(t.Context(), `select n from seen`).Scan(&n); err != nil || n != 7 {
			t.Errorf("read %d: %v", n, err)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
		if engine == database.SQLite {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			reader, err := database.OpenReadOnly(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := reader.Read().QueryRowContext(t.Context(), `select n from seen`).Scan(&n); err != nil {
				t.Error(err)
			}
			if left, err := filepath.Glob(opts.Path + "*"); err != nil || len(left) != 1 {
				t.Errorf("made %v %v", left, err)
			}
			if _, err := reader.Raw().ExecContext(t.Context(), `insert into seen values (8)`); err == nil {
				t.Error("it can be written")
			}
			if err := reader.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
