package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// CopyFile writes one state of a SQLite file, whosever it is, into a new file, while others may be using it. The new
// file has no log.
func CopyFile(ctx context.Context, from, to string) (err error) {
	how := "mode=ro"
	if _, err := os.Stat(from + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how += "&immutable=1" // nobody uses it, and no log is made
	}
	db, err := sql.Open("sqlite", sqliteDSN(from, how))
	if err != nil {
		return fmt.Errorf("open %s: %w", from, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, `vacuum into $1`, to); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}
