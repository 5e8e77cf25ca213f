// Package dbtest gives each test a store of its own on both engines: a SQLite file, and a schema of a private Postgres cluster.
//
// It is for tests only. A missing Postgres fails the test with the remedy; nothing is skipped.
package dbtest

import (
	"path/filepath"
	"testing"

	"harness/database"
	"harness/migrations"
)

// Engines are the engines every store test runs on.
func Engines() []database.Engine { return []database.Engine{database.SQLite, database.Postgres} }

// Each runs a subtest per engine on a fresh, migrated store.
func Each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(string(engine), func(t *testing.T) { test(t, Open(t, engine)) })
	}
}

// Open returns a fresh, migrated store, closed at the end of the test.
func Open(t testing.TB, engine database.Engine) *database.DB {
	t.Helper()
	opts := Options(t, engine)
	db := Connect(t, opts)
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	return db
}

// Options selects a fresh, empty store, for tests that open it themselves or in another process.
func Options(t testing.TB, engine database.Engine) database.Options {
	t.Helper()
	if engine == database.Postgres {
		return database.Options{URL: newSchema(t)}
	}
	return database.Options{Path: filepath.Join(t.TempDir(), "harness.db"), Marker: migrations.Marker}
}

// URL is the DATABASE_URL of a fresh Postgres schema, "" for SQLite, for tests of the whole program.
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
