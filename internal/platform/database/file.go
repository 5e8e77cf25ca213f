package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"harness/internal/lib/durable"
	"harness/internal/platform/database/wal"
)

// applicationID in the header of a SQLite file identifies it as ours ("HRNS").
const applicationID = 0x48524e53

// FileError is the reason for refusing a SQLite file, which is unchanged.
type FileError struct{ Path, Reason string }

// Error implements error.
func (e *FileError) Error() string {
	return fmt.Sprintf(
		"the database %s %s. Nothing was changed and the server does not start over by itself: put back a backup of %[1]s "+
			"(with the %[1]s-wal saved with it, and without any other), or save what can be read with `sqlite3 %[1]s .recover`. To begin with an "+
			"empty store, move %[1]s, %[1]s-wal and %[1]s-shm away, or set another DATA_DIR", e.Path, e.Reason)
}

// prepareFile makes the file of a new store, or checks an existing one. It refuses a file that is damaged or not ours;
// SQLite itself treats an empty file as a new database and would discard its log. It adds a missing application_id to
// an old store. Damaged frames of the log are repaired where possible; mended is called with their number.
func prepareFile(ctx context.Context, path, marker string, mended func(frames int)) (err error) {
	id, err := checkFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return createFile(ctx, path)
	}
	if err != nil {
		return err
	}
	if err := mendLog(path, mended); err != nil {
		return err
	}
	how := "mode=ro" // otherwise SQLite would move even a damaged log into the database when it closes the file
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how += "&immutable=1" // otherwise SQLite would create a log
	}
	if _, err := os.Stat(path + "-journal"); err == nil {
		how = "mode=rw" // an unfinished transaction must be rolled back
	}
	marked, err := withFile(path, how, func(db *sql.DB) (bool, error) { return checkContent(ctx, db, path, marker, id) })
	if err != nil || id == applicationID || !marked {
		return err
	}
	_, err = withFile(path, "mode=rw", func(db *sql.DB) (bool, error) {
		_, err := db.ExecContext(ctx, fmt.Sprintf("pragma application_id = %d", applicationID))
		return true, err
	})
	if err != nil {
		return fmt.Errorf("mark %s as a store of this program: %w", path, err)
	}
	return nil
}

// mendLog repairs the damaged frames of a database's log where possible.
func mendLog(path string, mended func(frames int)) error {
	path, err := filepath.EvalSymlinks(path) // the log is beside the file itself, not beside a link
	if err != nil {
		return fmt.Errorf("look for the database: %w", err)
	}
	frames, err := wal.Mend(path)
	if err != nil {
		return damagedLog(path, err)
	}
	if frames > 0 && mended != nil {
		mended(frames)
	}
	return nil
}

// damagedLog returns the error for a damaged log, with its file and how to continue without the lost commits.
func damagedLog(path string, err error) error {
	var damage *wal.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	return &FileError{path, fmt.Sprintf("is damaged: %v. SQLite would treat that as the log's end and drop the commits after it; "+
		"to accept that, run harness doctor --salvage, which first copies both files aside", damage)}
}

// withFile opens a database for one call of fn.
func withFile(path, how string, fn func(db *sql.DB) (bool, error)) (result bool, err error) {
	db, err := sql.Open("sqlite", sqliteDSN(path, how))
	if err != nil {
		return false, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return fn(db)
}

// checkFile checks a file, opened with flag, without SQLite, which would change it, and returns its application_id.
// fs.ErrNotExist: it is missing, with its log.
func checkFile(path string, flag int) (id uint32, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, suffix := range []string{"-wal", "-shm", "-journal"} {
			if _, err := os.Lstat(path + suffix); err == nil {
				return 0, &FileError{path, "is missing, but its " + suffix[1:] + " file is there"}
			}
		}
	}
	if err != nil {
		return 0, fmt.Errorf("look for the database: %w", err)
	}
	if !info.Mode().IsRegular() {
		return 0, &FileError{path, "is a " + kindOf(info.Mode()) + ", not a file"}
	}
	if path, err = filepath.EvalSymlinks(path); err != nil { // the log is beside the file itself
		return 0, fmt.Errorf("look for the database: %w", err)
	}
	return checkHeader(path, flag)
}

func kindOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "folder"
	}
	return "device"
}

// createFile creates the file under a temporary name and links it. A kill leaves a complete file or none, never an
// empty one, which would count as damaged.
func createFile(ctx context.Context, path string) (err error) {
	// SQLite makes its files readable for all users, and gives its other files the same mode. Only their owner may read
	// transcripts (0600).
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("make the database: %w (set DATA_DIR to a folder this user may write)", err)
	}
	defer func() {
		if gone := os.Remove(draft.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := draft.Close(); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	db, err := sql.Open("sqlite", sqliteDSN(draft.Name()))
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	_, err = db.ExecContext(ctx, fmt.Sprintf("pragma application_id = %d", applicationID))
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	// A link, not a rename: if another process was faster, its file stays. Not every file system supports links.
	err = os.Link(draft.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the database: %w", err)
	}
	// Commits acknowledged later must not be in a file without a name.
	if err := durable.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}
