package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	_ "modernc.org/sqlite" // the SQLite driver

	"harness/internal/platform/database/lite"
)

// Options select the store.
type Options struct {
	// URL is a Postgres URL; "" means SQLite.
	URL string
	// Path is the SQLite file. Its folder is created if missing.
	Path string
	// Marker is a table that every store of this program has. A SQLite file with tables but without the marker belongs
	// to another program, and is refused with a *FileError. "" disables the check.
	Marker string
	// Synchronous is SQLite's durability: FULL (default; a commit survives power loss) or NORMAL (it survives a crash of
	// the process).
	Synchronous string
	// Sync syncs SQLite's log with FULL; nil means (*os.File).Sync. Tests replace it.
	Sync func(log *os.File) error
	// MaxConns bounds the Postgres pool; 0 means 16.
	MaxConns int
	// Checkpointed is called after each checkpoint of SQLite's log, with the log's pages (4 KiB) at that time, or with
	// the error. It is called on a goroutine that Close waits for. It may be nil.
	Checkpointed func(pages int, err error)
	// Mended is called with the number of frames of SQLite's log in which a flipped bit was repaired. It may be nil.
	Mended func(frames int)
	// Unmarked is called when the synced length of SQLite's log can no longer be recorded, once per outage. It may be
	// nil, and must not block.
	Unmarked func(err error)
}

const (
	connectTimeout = 10 * time.Second
	// busyTimeout is how long a connection to SQLite waits for another process.
	busyTimeout = 10 * time.Second
)

// Open connects to the store and checks that it answers. It does not migrate. It creates a missing SQLite file, and
// refuses a file that is damaged, truncated, empty or not ours with a *FileError.
func Open(ctx context.Context, opts Options) (*DB, error) {
	if opts.URL != "" {
		return openPostgres(ctx, opts)
	}
	return openSQLite(ctx, opts, writerPages)
}

// openSQLite opens a file whose log is bounded to logPages pages.
func openSQLite(ctx context.Context, opts Options, logPages int) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(opts.Path), 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if err := prepareFile(ctx, opts.Path, opts.Marker, opts.Mended); err != nil {
		return nil, err
	}
	synchronous := opts.Synchronous
	if synchronous == "" {
		synchronous = "FULL"
	}
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(" + synchronous + ")",
		"foreign_keys(1)", "cache_size(-16384)", fmt.Sprintf("wal_autocheckpoint(%d)", logPages),
		// the undo data of statements with many rows: a separate file costs a tenth of the writer's time
		"temp_store(MEMORY)",
		// overwrites deleted data, also in unused pages
		"secure_delete(1)",
	}
	kept, err := openWriter(ctx, func() (*lite.Conn, error) { return lite.Open(sqliteURI(opts.Path), pragmas...) },
		synchronous == "FULL", opts)
	if err != nil {
		return nil, fmt.Errorf("open %s (is the data directory writable?): %w", opts.Path, err)
	}
	var params []string
	for _, pragma := range pragmas {
		params = append(params, "_pragma="+pragma)
	}
	raw, err := sql.Open("sqlite", sqliteDSN(opts.Path, append(params, "_txlock=immediate")...))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", opts.Path, err), kept.close())
	}
	raw.SetMaxOpenConns(1)
	raw.SetMaxIdleConns(-1) // close it when it is not in use
	// Readers have a small cache: pages of long rows rarely serve the next reader, and the system caches the file.
	read, err := sql.Open("sqlite", sqliteDSN(opts.Path, "_pragma=query_only(1)", "_pragma=cache_size(-2048)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s for reading: %w", opts.Path, err), kept.close(), raw.Close())
	}
	read.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	read.SetMaxIdleConns(4)
	checkpoints, err := startCheckpointer(opts, kept, logPages)
	if err != nil {
		return nil, errors.Join(err, kept.close(), raw.Close(), read.Close())
	}
	return &DB{engine: SQLite, write: raw, read: read, raw: raw, writer: kept, reads: newStatements(read, kept.log),
		checkpoints: checkpoints}, nil
}

func sqliteURI(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

func sqliteDSN(path string, params ...string) string {
	dsn := fmt.Sprintf("%s?_pragma=busy_timeout(%d)", sqliteURI(path), busyTimeout.Milliseconds())
	for _, param := range params {
		dsn += "&" + param
	}
	return dsn
}

// redact keeps a password out of connection errors: pgx quotes the URL it could not parse.
func redact(err error) error {
	var parse interface{ Unwrap() error }
	if errors.As(err, &parse) && parse.Unwrap() != nil {
		return parse.Unwrap()
	}
	return err
}

// LockClause returns the clause that makes a select lock its row until the transaction ends. An immediate SQLite
// transaction already locks everything.
func (db *DB) LockClause() string {
	if db.engine == Postgres {
		return " for update"
	}
	return ""
}
