// Package dbtest gives each test a separate store on both engines: a SQLite file, and a schema of a private Postgres
// cluster.
//
// It is for tests only. A missing Postgres fails the test with the remedy; only `make check` skips.
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"harness/internal/platform/database"
	"harness/migrations"
)

// Engines returns the engines that every store test runs on.
func Engines() []database.Engine { return []database.Engine{database.SQLite, database.Postgres} }

// EachEngine runs a subtest per engine in parallel.
func EachEngine(t *testing.T, test func(t *testing.T, engine database.Engine)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}

// Each runs a subtest per engine on a fresh, migrated store.
func Each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(string(engine), func(t *testing.T) { test(t, Open(t, engine)) })
	}
}

// Open returns a fresh, migrated store. The end of the test closes it.
func Open(t testing.TB, engine database.Engine) *database.DB {
	t.Helper()
	opts := Options(t, engine)
	if engine == database.SQLite {
		file, err := migrated()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(opts.Path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return Connect(t, opts)
	}
	db := Connect(t, opts)
	if _, err := migrations.Up(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
	return db
}

// migrated is the file of an empty, migrated store. Migration takes most of a short test's time, so a test binary
// migrates once.
var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "harness-migrated-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "harness.db")
	ctx := context.Background()
	db, err := database.Open(ctx, database.Options{Path: path, Marker: migrations.Marker})
	if err != nil {
		return nil, err
	}
	_, err = migrations.Up(ctx, db, filepath.Join(dir, "migrate.lock"))
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("not all of a closed store is in its file: %w", err)
	}
	return os.ReadFile(path)
})

// Options selects a fresh, empty store, for tests that open it themselves or in another process.
func Options(t testing.TB, engine database.Engine) database.Options {
	t.Helper()
	if engine == database.Postgres {
		return database.Options{URL: newSchema(t)}
	}
	return database.Options{Path: filepath.Join(t.TempDir(), "harness.db"), Marker: migrations.Marker}
}

// URL returns the DATABASE_URL of a fresh Postgres schema, "" for SQLite. It is for tests of the whole program.
func URL(t testing.TB, engine database.Engine) string {
	t.Helper()
	return Options(t, engine).URL
}

// Connect opens a store and closes it at the end of the test.
func Connect(t testing.TB, opts database.Options) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return db
}
