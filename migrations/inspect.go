package migrations

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"harness/internal/platform/database"
)

// Inspect reports what Up would do, without doing it. From is the store's schema version (0 for an empty store), To
// this binary's. From may be greater.
func Inspect(ctx context.Context, db *database.DB) (Result, error) {
	latest, err := Latest()
	if err != nil {
		return Result{}, err
	}
	result := Result{To: latest}
	question := `select count(*) from sqlite_master where type = 'table' and name = 'goose_db_version'`
	if db.Engine() == database.Postgres {
		question = `select count(*) from pg_tables where tablename = 'goose_db_version' and schemaname = current_schema()`
	}
	var tables int
	if err := db.Read().QueryRowContext(ctx, question).Scan(&tables); err != nil {
		return Result{}, fmt.Errorf("find the schema: %w", err)
	}
	if tables == 0 {
		return result, nil
	}
	err = db.Read().QueryRowContext(ctx, `select coalesce(max(version_id), 0) from goose_db_version where is_applied`).
		Scan(&result.From)
	if err != nil {
		return Result{}, fmt.Errorf("read the schema version: %w", err)
	}
	return result, nil
}

// Latest returns the schema version to which this binary migrates a store.
func Latest() (latest int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		version, err := versionOf(name)
		if err != nil {
			return 0, err
		}
		latest = max(latest, version)
	}
	return latest, nil
}

// versionOf returns the schema version after a migration.
func versionOf(name string) (int64, error) {
	text, _, _ := strings.Cut(name, "_")
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the migration %s has no version: %w", name, err)
	}
	return version, nil
}
