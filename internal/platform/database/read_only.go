package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/platform/database/wal"
)

// OpenReadOnly opens an existing store for reading. It neither creates nor changes a file, and takes no lock that a
// server would wait for. It returns fs.ErrNotExist for a missing SQLite file, and *FileError for a file that Open would
// refuse. ErrReadOnly is returned together with the store, and means that the store accepts no writes. The caller
// closes the store.
func OpenReadOnly(ctx context.Context, opts Options) (*DB, error) {
	if opts.URL != "" {
		opts.MaxConns = 1
		db, err := openPostgres(ctx, opts)
		if err != nil {
			return nil, err
		}
		var readOnly string
		if err := db.read.QueryRowContext(ctx, `show transaction_read_only`).Scan(&readOnly); err != nil {
			return nil, errors.Join(fmt.Errorf("ask Postgres whether it accepts writes: %w", err), db.Close())
		}
		if readOnly == "on" {
			return db, ErrReadOnly
		}
		return db, nil
	}
	id, err := checkFile(opts.Path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	path, err := filepath.EvalSymlinks(opts.Path) // the log is beside the file itself
	if err != nil {
		return nil, fmt.Errorf("find the database: %w", err)
	}
	if err := wal.Check(path); err != nil {
		return nil, damagedLog(path, err)
	}
	// Without a log the file is unused, and no log is created. With a log, the log's content counts, and its index file
	// can be shared.
	how := "mode=ro&readonly_shm=1"
	if _, err := os.Stat(opts.Path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how += "&immutable=1"
	}
	read, err := sql.Open("sqlite", sqliteDSN(opts.Path, how, "_pragma=query_only(1)"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opts.Path, err)
	}
	read.SetMaxOpenConns(1)
	if _, err := checkContent(ctx, read, opts.Path, opts.Marker, id); err != nil {
		return nil, errors.Join(err, read.Close())
	}
	return &DB{engine: SQLite, write: read, read: read, raw: read}, nil
}

// ErrReadOnly means that a store answers but accepts no writes.
var ErrReadOnly = errors.New("the store accepts no writes")
