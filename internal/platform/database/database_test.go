package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

func TestUpdateCommitsOrUndoes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		put := func(id string, fail error) error {
			return db.Update(t.Context(), func(tx database.Tx) error {
				if _, err := tx.ExecContext(t.Context(),
					`insert into default_controls (id, controls) values (1, $1) on conflict (id) do update set controls = excluded.controls`,
					id); err != nil {
					return err
				}
				return fail
			})
		}
		boom := errors.New("boom")
		if err := put("first", nil); err != nil {
			t.Fatal(err)
		}
		if err := put("second", boom); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		var got string
		if err := db.Read().QueryRowContext(t.Context(), `select controls from default_controls`).Scan(&got); err != nil ||
			got != "first" {
			t.Fatalf("%q %v", got, err)
		}
	})
}

// Every commit is synced before Update returns, unless NORMAL is set; SQLite itself syncs the statements of Raw.
func TestSQLiteIsDurableByDefault(t *testing.T) {
	t.Parallel()
	for synchronous, want := range map[string]struct{ level, syncs int }{"": {2, 1}, "FULL": {2, 1}, "NORMAL": {1, 0}} {
		synced := 0
		db := dbtest.Connect(t, database.Options{Path: filepath.Join(t.TempDir(), "not", "there", "yet.db"),
			Synchronous: synchronous, Sync: func(log *os.File) error { synced++; return log.Sync() }})
		var mode string
		var level int
		if err := errors.Join(db.Update(t.Context(), func(database.Tx) error { return nil }),
			db.Raw().QueryRowContext(t.Context(), `pragma journal_mode`).Scan(&mode),
			db.Raw().QueryRowContext(t.Context(), `pragma synchronous`).Scan(&level)); err != nil {
			t.Fatal(err)
		}
		if mode != "wal" || level != want.level || synced != want.syncs {
			t.Errorf("%q: journal_mode %s, synchronous %d (want %d), %d syncs (want %d)", synchronous, mode, level, want.level,
				synced, want.syncs)
		}
	}
}

func TestReadsCannotWriteOnSQLite(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var id int
	err := db.Read().QueryRowContext(t.Context(),
		`insert into default_controls (id, controls) values (1, '') returning id`).Scan(&id)
	if err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Fatalf("a read connection must refuse to write: %v", err)
	}
}

func TestErrorsNameTheCauseAndNeverThePassword(t *testing.T) {
	t.Parallel()
	const canary = "s3cr3t-canary"
	readOnly := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(readOnly, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, opts := range map[string]database.Options{
		"nothing listens":  {URL: "postgres://ann:" + canary + "@127.0.0.1:1/db"},
		"not a url":        {URL: "postgres://ann:" + canary + "@127.0.0.1:port/db"},
		"path is no place": {Path: filepath.Join(readOnly, "db")},
	} {
		_, err := database.Open(context.Background(), opts)
		if err == nil {
			t.Fatalf("%s: opened", name)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: the password is in %q", name, err)
		}
	}
}

func TestTransient(t *testing.T) {
	t.Parallel()
	_, refused := database.Open(t.Context(), database.Options{URL: "postgres://ann@127.0.0.1:1/db"})
	if !database.Transient(refused) {
		t.Errorf("a refused connection may come back: %v", refused)
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var nothing int
		err := db.Read().QueryRowContext(t.Context(), `select nonsense from nowhere`).Scan(&nothing)
		if err == nil || database.Transient(err) {
			t.Errorf("a wrong statement stays wrong: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
		if err := db.Ping(t.Context()); err == nil {
			t.Error("a closed store answers")
		}
	})
}
