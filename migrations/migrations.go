// Package migrations migrates the store's schema to this binary's version.
//
// It owns the SQL of every table and the rule that several processes may migrate at once. Migrations are additive: a
// released one never changes. It must never know what the tables are for.
package migrations

import (
	"context"
	"embed"
	"fmt"
	"hash/crc64"
	"math"
	"os"
	"syscall"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"harness/internal/platform/database"
)

//go:embed *.sql
var files embed.FS

// NewerSchemaError means that a newer binary than this one migrated the store.
type NewerSchemaError struct{ Store, Binary int64 }

// Error implements error.
func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf(
		"the database has schema version %d, this binary knows %d: start the newer harness that migrated it, or restore "+
			"a backup from before the upgrade",
		e.Store, e.Binary)
}

// Marker is a table of the first migration, which is never dropped, so every migrated store has it.
const Marker = "journal_head"

// Result is the outcome of Up.
type Result struct {
	// From and To are the schema versions before and after.
	From, To int64
}

// Up applies missing migrations. Any number of processes may call it on one store at once: each migration is applied
// exactly once. lockFile is a file beside the SQLite store that serializes them there; Postgres uses an advisory lock.
// If the store is ahead of this binary, Up returns *NewerSchemaError and changes nothing.
func Up(ctx context.Context, db *database.DB, lockFile string) (Result, error) {
	return UpTo(ctx, db, lockFile, math.MaxInt64)
}

// UpTo is Up to a given version, so that rows of that version can be inserted.
func UpTo(ctx context.Context, db *database.DB, lockFile string, version int64) (Result, error) {
	release, err := acquire(db, lockFile)
	if err != nil {
		return Result{}, err
	}
	defer release()

	provider, err := newProvider(ctx, db)
	if err != nil {
		return Result{}, err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("read the schema version: %w", err)
	}
	if current > target {
		return Result{}, &NewerSchemaError{Store: current, Binary: target}
	}
	target = min(target, version)
	if _, err := provider.UpTo(ctx, target); err != nil {
		return Result{}, fmt.Errorf("migrate the database from version %d to %d: %w", current, target, err)
	}
	return Result{From: current, To: target}, nil
}

func newProvider(ctx context.Context, db *database.DB) (*goose.Provider, error) {
	steps, err := steps(db.Engine())
	if err != nil {
		return nil, err
	}
	kind := goose.DialectSQLite3
	options := []goose.ProviderOption{goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true), goose.WithVerbose(false),
		goose.WithLogger(goose.NopLogger())}
	if db.Engine() == database.Postgres {
		kind = goose.DialectPostgres
		locker, err := newLocker(ctx, db)
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(kind, db.Raw(), nil, options...)
	if err != nil {
		return nil, fmt.Errorf("load the migrations: %w", err)
	}
	return provider, nil
}

// newLocker locks only this schema of this database, so that stores on the same server do not wait for each other.
func newLocker(ctx context.Context, db *database.DB) (lock.SessionLocker, error) {
	var store string
	if err := db.Read().QueryRowContext(ctx, `select current_database() || '.' || coalesce(current_schema(), '')`).
		Scan(&store); err != nil {
		return nil, fmt.Errorf("read the schema's name (does the search_path name an existing one?): %w", err)
	}
	id := int64(crc64.Checksum([]byte("harness migrations "+store), crc64.MakeTable(crc64.ECMA)) >> 1)
	const everySecond, tries = 1, 300
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(id), lock.WithLockTimeout(everySecond, tries),
		lock.WithUnlockTimeout(everySecond, tries))
	if err != nil {
		return nil, fmt.Errorf("make the migration lock: %w", err)
	}
	return locker, nil
}

// acquire serializes migrating processes on SQLite, where two that both find no version table would both create it.
func acquire(db *database.DB, lockFile string) (release func(), err error) {
	if db.Engine() != database.SQLite {
		return func() {}, nil
	}
	file, err := os.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the migration lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("take the migration lock %s: %w", lockFile, err)
	}
	// Closing the file releases the lock.
	return func() { _ = file.Close() }, nil
}
