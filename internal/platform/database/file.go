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

// applicationID marks a SQLite file as one of ours ("HRNS"), at its place in the file's header.
const applicationID = 0x48524e53

// FileError says why a SQLite file is not used. Nothing was changed.
type FileError struct{ Path, Reason string }

// Error implements error.
func (e *FileError) Error() string {
	return fmt.Sprintf(
		"the database %s %s. Nothing was changed and the server does not start over by itself: put back a backup of %[1]s "+
			"(with the %[1]s-wal saved with it, and without any other), or save what can be read with `sqlite3 %[1]s .recover`. To begin with an "+
			"empty store, move %[1]s, %[1]s-wal and %[1]s-shm away, or set another DATA_DIR", e.Path, e.Reason)
}

// prepareFile makes the file of a new store, or checks one that is there. What is there is refused unless it is sound
// and ours: SQLite itself takes an empty file for a new database, and would forget its log. A store of before there was
// an application_id is given it.
// In a log that is not what was written, what can be put right is; mended is called with how many frames that were.
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
	how := "mode=ro" // else SQLite would move the log into the database when it closes it, damaged or not
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		how += "&immutable=1" // else it would make one
	}
	if _, err := os.Stat(path + "-journal"); err == nil {
		how = "mode=rw" // a transaction is to be undone
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

// mendLog has what can be put right in a database's log put right.
func mendLog(path string, mended func(frames int)) error {
	path, err := filepath.EvalSymlinks(path) // the log lies beside the file itself
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

// damagedLog names a damaged log's file, and how to go on without what is lost.
func damagedLog(path string, err error) error {
	var damage *wal.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	return &FileError{path, fmt.Sprintf("is damaged: %v. SQLite would take that for the log's end and forget what stands behind it; "+
		"if that is to be, harness doctor --salvage copies both aside first", damage)}
}

// withFile opens a database for one call.
func withFile(path, how string, fn func(db *sql.DB) (bool, error)) (result bool, err error) {
	db, err := sql.Open("sqlite", sqliteDSN(path, how))
	if err != nil {
		return false, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return fn(db)
}

// checkFile looks at a file, opened with flag, without SQLite, which would change it, and returns its application_id.
// fs.ErrNotExist: it is missing, and nothing of it is left.
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
	if path, err = filepath.EvalSymlinks(path); err != nil { // its log lies beside the file itself
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

// createFile makes the file beside its place and moves it there: a kill leaves a whole file or none, never an empty
// one, which would be taken for a damaged one.
func createFile(ctx context.Context, path string) (err error) {
	// SQLite makes its files readable by all users, and its other files like this one: transcripts are their
	// owner's (0600).
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
	// A link, not a rename: when another process was faster, its file stays. Not every file system has links.
	err = os.Link(draft.Name(), path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the database: %w", err)
	}
	// What is acknowledged later must not be in a file without a name.
	if err := durable.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}
