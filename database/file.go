package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// applicationID marks a SQLite file as one of ours ("HRNS"), at its place in the file's header.
const applicationID = 0x48524e53

// Where SQLite's file format keeps what is read here.
const (
	headerSize      = 100
	headerMagic     = "SQLite format 3\x00"
	headerPageSize  = 16
	headerChanges   = 24
	headerPages     = 28
	headerAppID     = 68
	headerPagesAsOf = 92
	// lockedByte lies in a page that SQLite never writes.
	lockedByte = 1 << 30
)

// checkBound is how long Open may look for damage inside a file; a larger file is looked through in part.
const checkBound = 250 * time.Millisecond

// FileError says why a SQLite file is not used. Nothing was changed.
type FileError struct{ Path, Reason string }

// Error implements error.
func (e *FileError) Error() string {
	return fmt.Sprintf("the database %s %s. Nothing was changed and the server does not start over by itself: put back a backup of %[1]s "+
		"(with the %[1]s-wal saved with it, and without any other), or save what can be read with `sqlite3 %[1]s .recover`. To begin with an "+
		"empty store, move %[1]s, %[1]s-wal and %[1]s-shm away, or set another DATA_DIR", e.Path, e.Reason)
}

// prepareFile makes the file of a new store, or checks one that is there. What is there is refused unless it is sound and ours: SQLite
// itself takes an empty file for a new database, and would forget its log. A store of before there was an application_id is given it.
func prepareFile(ctx context.Context, path, marker string) (err error) {
	id, err := checkFile(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return createFile(ctx, path)
	}
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	ours, err := checkContent(ctx, db, path, marker, id)
	if err != nil || id == applicationID || !ours {
		return err
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf("pragma application_id = %d", applicationID)); err != nil {
		return fmt.Errorf("mark %s as a store of this program: %w", path, err)
	}
	return nil
}

// checkFile looks at a file, opened with flag, without SQLite, which would change it, and returns its application_id. fs.ErrNotExist: it is
// missing, and nothing of it is left.
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

// createFile makes the file beside its place and moves it there: a kill leaves a whole file or none, never an empty one, which would be
// taken for a damaged one.
func createFile(ctx context.Context, path string) (err error) {
	// SQLite makes its files readable by everybody, and its other files like this one: transcripts are their owner's (0600).
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fmt.Errorf("make the database: %w (set DATA_DIR to a folder this user may write)", err)
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()
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
	// A link, not a rename: when another process was faster, its file stays.
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the database: %w", err)
	}
	return nil
}

func checkHeader(path string, flag int) (id uint32, err error) {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return 0, fmt.Errorf("open the database: %w (give its owner's user the right to write it, or set DATA_DIR to a folder of this user)", err)
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, headerSize)
	switch n, err := io.ReadFull(file, header); {
	case errors.Is(err, io.EOF):
		return 0, &FileError{path, "is empty (0 bytes)"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, &FileError{path, fmt.Sprintf("is cut off: it has %d bytes", n)}
	case err != nil:
		return 0, fmt.Errorf("read the database: %w", err)
	}
	if !bytes.HasPrefix(header, []byte(headerMagic)) {
		return 0, &FileError{path, "is no SQLite database: it begins with something else"}
	}
	if id = binary.BigEndian.Uint32(header[headerAppID:]); id != 0 && id != applicationID {
		return 0, &FileError{path, fmt.Sprintf("belongs to another application (its application_id is %d)", id)}
	}
	pageSize := int64(binary.BigEndian.Uint16(header[headerPageSize:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	if pageSize < 512 {
		return 0, &FileError{path, "is damaged: its header is not one of SQLite"}
	}
	missing, err := missingPages(file, header, pageSize)
	if err != nil {
		return 0, fmt.Errorf("read the database's log: %w", err)
	}
	if missing > 0 {
		return 0, &FileError{path, fmt.Sprintf("is cut off: %d pages of %d bytes are missing at its end", missing, pageSize)}
	}
	return id, nil
}

// missingPages counts the pages that are neither in the file nor in its log. SQLite notices them by itself only when there is no log, which
// a killed server always leaves.
func missingPages(file *os.File, header []byte, pageSize int64) (missing int64, err error) {
	log, err := readLog(file.Name()+"-wal", pageSize)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat() // after the log was read: a running server moves pages from there to here
	if err != nil {
		return 0, err
	}
	pages := log.pages
	if pages == 0 { // nothing was committed to the log
		if !bytes.Equal(header[headerChanges:headerChanges+4], header[headerPagesAsOf:headerPagesAsOf+4]) {
			return 0, nil // the header does not know
		}
		pages = int64(binary.BigEndian.Uint32(header[headerPages:]))
	}
	for page := info.Size()/pageSize + 1; page <= pages; page++ {
		if !log.has[page] && page != lockedByte/pageSize+1 {
			missing++
		}
	}
	return missing, nil
}

// writeAheadLog is what a log holds: the pages of its commits, and how many pages the database has after the last (0: none was committed).
type writeAheadLog struct {
	has   map[int64]bool
	pages int64
}

const (
	logHeaderSize   = 32
	frameHeaderSize = 24
)

// readLog reads the headers of a log's frames. Frames of before the log was begun anew have another salt.
func readLog(path string, pageSize int64) (writeAheadLog, error) {
	log := writeAheadLog{has: map[int64]bool{}}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return log, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return log, err
	}
	var start [logHeaderSize]byte
	if _, err := file.ReadAt(start[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return log, err
	}
	salt := start[16:24]
	var frame [frameHeaderSize]byte
	for at := int64(logHeaderSize); at+frameHeaderSize+pageSize <= info.Size(); at += frameHeaderSize + pageSize {
		if _, err := file.ReadAt(frame[:], at); err != nil {
			return log, err
		}
		if !bytes.Equal(frame[8:16], salt) {
			break
		}
		log.has[int64(binary.BigEndian.Uint32(frame[:]))] = true
		if committed := int64(binary.BigEndian.Uint32(frame[4:])); committed > 0 {
			log.pages = committed
		}
	}
	return log, nil
}

// checkContent refuses a file with damage inside, or with tables and neither our application_id nor the marker, which it tells of.
func checkContent(ctx context.Context, db *sql.DB, path, marker string, id uint32) (marked bool, err error) {
	tables, err := readTables(ctx, db)
	if err == nil {
		err = quickCheck(ctx, db)
	}
	if err != nil {
		return false, damaged(path, err)
	}
	marked = slices.Contains(tables, marker)
	if id == 0 && marker != "" && len(tables) > 0 && !marked {
		return false, &FileError{path, fmt.Sprintf("belongs to another application: it has the tables %s, but none named %s",
			strings.Join(tables[:min(len(tables), 5)], ", "), marker)}
	}
	return marked, nil
}

// damaged tells damage from what keeps SQLite from reading a sound file.
func damaged(path string, err error) error {
	const corrupt, notADatabase = 11, 26
	var (
		found *damage
		lite  *sqlite.Error
	)
	if errors.As(err, &found) || errors.As(err, &lite) && (lite.Code()&0xff == corrupt || lite.Code() == notADatabase) {
		return &FileError{path, "is damaged: " + err.Error()}
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// quickCheck looks for damage for as long as checkBound lets it.
func quickCheck(ctx context.Context, db *sql.DB) error {
	bounded, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()
	var found string
	err := db.QueryRowContext(bounded, `pragma quick_check(1)`).Scan(&found)
	switch {
	case bounded.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case found != "ok":
		return &damage{found}
	}
	return nil
}

// damage is what SQLite found.
type damage struct{ found string }

// Error implements error.
func (d *damage) Error() string { return d.found }

func readTables(ctx context.Context, db *sql.DB) (tables []string, err error) {
	rows, err := db.QueryContext(ctx, `select name from sqlite_schema where type = 'table' and name not like 'sqlite\_%' escape '\' order by name`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		tables = append(tables, name)
	}
	return tables, rows.Err()
}
