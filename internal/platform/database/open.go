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
	// Path is the SQLite file. Its folder is made when missing.
	Path string
	// Marker is a table that every store of this program has: a SQLite file with tables but without it belongs to
	// another one and is refused with a *FileError. "" does not look.
	Marker string
	// Synchronous is SQLite's durability: FULL (default; a commit survives power loss) or NORMAL (it survives a crash of
	// the process).
	Synchronous string
	// Sync brings SQLite's log to the disk with FULL; nil means (*os.File).Sync. Another one is for tests.
	Sync func(log *os.File) error
	// MaxConns bounds the Postgres pool; 0 means 16.
	MaxConns int
	// Checkpointed is called each time SQLite's log was moved into the database, with the pages (4 KiB) of log
	// there are then, or with the error. It is called from a goroutine that Close waits for, and may be nil.
	Checkpointed func(pages int, err error)
	// Mended is called when frames of SQLite's log in which a bit was flipped were put right, with their number. It may be
	// nil.
	Mended func(frames int)
	// Unmarked is called when it cannot be noted any more how much of SQLite's log is synced, once until it can again. It may
	// be nil, and must not block.
	Unmarked func(err error)
}

const (
	connectTimeout = 10 * time.Second
	// busyTimeout is how long a connection to SQLite waits for one of another process.
	busyTimeout = 10 * time.Second
)

// Open connects to the store and checks that it answers. It does not migrate. A SQLite file that is missing is made;
// one that is damaged, cut off, empty or not ours is refused with a *FileError.
func Open(ctx context.Context, opts Options) (*DB, error) {
	if opts.URL != "" {
		return openPostgres(ctx, opts)
	}
	return openSQLite(ctx, opts, writerPages)
}

// openSQLite opens a file whose log is bounded to so many pages.
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
		// where a statement of many rows notes what it would have to undo: a file of its own is a tenth of the writer's time
		"temp_store(MEMORY)",
		// what is deleted is overwritten, also in pages that nothing uses any more
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
	raw.SetMaxIdleConns(-1) // it is closed again when it is not in use
	// Readers have little memory of their own: what a reader of long rows leaves in it is of no use to the next one, and the
	// system keeps the pages of the file.
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

// LockClause ends a select that must hold its row until the transaction ends. An immediate SQLite transaction holds
// everything already.
func (db *DB) LockClause() string {
	if db.engine == Postgres {
		return " for update"
	}
	return ""
}
