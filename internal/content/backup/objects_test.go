package backup_test

import (
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/content/backup"
	"harness/internal/lib/objectstore"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/s3test"
)

// Contents in an object store are in an archive. A restore, or a move of the rows, stores them in the target. Without
// access to the object store, there is an error.
func TestContentsOfAnObjectStoreAreKept(t *testing.T) {
	t.Parallel()
	objects, err := objectstore.Open(s3test.Start(t).Options)
	if err != nil {
		t.Fatal(err)
	}
	k := keepIn(t, database.Postgres, objects)
	file := filepath.Join(t.TempDir(), "archive")
	source := backup.Source{DB: k.db, DataDir: k.dir}
	if _, err := backup.Write(t.Context(), file, source); err == nil || !strings.Contains(err.Error(), "HARNESS_S3_") {
		t.Fatalf("without the object store: %v", err)
	}
	source.Objects = objects
	if _, err := backup.Write(t.Context(), file, source); err != nil {
		t.Fatal(err)
	}
	for _, to := range dbtest.Engines() {
		options, dir := dbtest.Options(t, to), t.TempDir()
		if _, err := backup.Restore(t.Context(), file, backup.Target{URL: options.URL, DataDir: dir}); err != nil {
			t.Fatal(err)
		}
		if options.URL == "" {
			options.Path = filepath.Join(dir, "harness.db")
		}
		k.check(t, dbtest.Connect(t, options), dir)
	}
	options, dir := dbtest.Options(t, database.SQLite), t.TempDir()
	to := dbtest.Connect(t, options)
	if _, err := backup.Move(t.Context(), k.db, to, dir, objects); err != nil {
		t.Fatal(err)
	}
	k.check(t, to, dir)
}
