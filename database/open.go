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

	_ "github.com/jackc/pgx/v5/stdlib" // the Postgres driver
	_ "modernc.org/sqlite"             // the SQLite driver
)

// Options select the store.
type Options struct {
	// URL is a Postgres URL; "" means SQLite.
	URL string
	// Path is the SQLite file. Its folder is made when missing.
	Path string
	// Synchronous is SQLite's durability: FULL (default; a commit survives power loss) or NORMAL (it survives a crash of the process).
	Synchronous string
	// MaxConns bounds the Postgres pool; 0 means 16.
	MaxConns int
	// Checkpointed is told each time SQLite's log was moved into the database, how many pages (4 KiB) of log there are then; or why it
	// could not be. It is called from a goroutine that Close waits for, and may be nil.
	Checkpointed func(pages int, err error)
}

const (
	connectTimeout = 10 * time.Second
	// busyTimeout is how long a connection to SQLite waits for one of another process.
	busyTimeout = 10 * time.Second
)

// Open connects to the store and checks that it answers. It does not migrate.
func Open(ctx context.Context, opts Options) (*DB, error) {
	if opts.URL != "" {
		return openPostgres(ctx, opts)
	}
	return openSQLite(ctx, opts, writerPages)
}

func openPostgres(ctx context.Context, opts Options) (*DB, error) {
	pool, err := sql.Open("pgx", opts.URL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL is not a Postgres URL like postgres://user:password@host:5432/name: %w", redact(err))
	}
	maxConns := opts.MaxConns
	if maxConns == 0 {
		maxConns = 16
	}
	pool.SetMaxOpenConns(maxConns)
	pool.SetMaxIdleConns(maxConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)

	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reach Postgres at DATABASE_URL (is it running, and may this user log in?): %w", redact(err)), pool.Close())
	}
	return &DB{engine: Postgres, write: pool, read: pool, idle: maxConns}, nil
}

// openSQLite opens a file whose log is bounded to so many pages.
func openSQLite(ctx context.Context, opts Options, logPages int) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(opts.Path), 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	// SQLite makes its files readable by everybody, and its other files like this one: transcripts are their owner's.
	file, err := os.OpenFile(opts.Path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w (set DATA_DIR to a folder this user may write)", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("make %s: %w", opts.Path, err)
	}
	synchronous := opts.Synchronous
	if synchronous == "" {
		synchronous = "FULL"
	}
	write, err := sql.Open("sqlite", sqliteDSN(opts.Path, "_txlock=immediate", "_pragma=journal_mode(WAL)", "_pragma=synchronous("+synchronous+")", "_pragma=foreign_keys(1)",
		"_pragma=cache_size(-16384)", fmt.Sprintf("_pragma=wal_autocheckpoint(%d)", logPages),
		"_pragma=temp_store(MEMORY)")) // where a statement of many rows notes what it would have to undo: a file of its own is a tenth of the writer's time
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opts.Path, err)
	}
	// The writer's connection, and one for Raw, which is closed again when it is not in use.
	write.SetMaxOpenConns(2)
	write.SetMaxIdleConns(-1)
	kept, err := openWriter(ctx, write)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s (is the data directory writable?): %w", opts.Path, err), write.Close())
	}
	read, err := sql.Open("sqlite", sqliteDSN(opts.Path, "_pragma=query_only(1)", "_pragma=cache_size(-8192)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s for reading: %w", opts.Path, err), kept.close())
	}
	read.SetMaxOpenConns(max(4, runtime.GOMAXPROCS(0)))
	read.SetMaxIdleConns(4)
	checkpoints, err := startCheckpointer(opts, kept, logPages)
	if err != nil {
		return nil, errors.Join(err, kept.close(), read.Close())
	}
	return &DB{engine: SQLite, write: write, read: read, writer: kept, reads: newStatements(read), checkpoints: checkpoints}, nil
}

func sqliteDSN(path string, params ...string) string {
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)", (&url.URL{Path: path}).EscapedPath(), busyTimeout.Milliseconds())
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

// LockClause ends a select that must hold its row until the transaction ends. An immediate SQLite transaction holds everything already.
func (db *DB) LockClause() string {
	if db.engine == Postgres {
		return " for update"
	}
	return ""
}
