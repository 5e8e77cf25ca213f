package database

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Offsets in SQLite's file format.
const (
	headerSize      = 100
	headerMagic     = "SQLite format 3\x00"
	headerPageSize  = 16
	headerChanges   = 24
	headerPages     = 28
	headerAppID     = 68
	headerPagesAsOf = 92
	// lockedByte is in a page that SQLite never writes.
	lockedByte = 1 << 30
)

// checkHeader is checkFile for an existing file.
func checkHeader(path string, flag int) (id uint32, err error) {
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return 0, fmt.Errorf(
			"open the database: %w (give its owner's user the right to write it, or set DATA_DIR to a folder of this user)", err)
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
		return 0, &FileError{path, "is not a SQLite database"}
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

// missingPages counts the pages that are neither in the file nor in its log. SQLite itself detects them only without a
// log, and a killed server always leaves one.
func missingPages(file *os.File, header []byte, pageSize int64) (missing int64, err error) {
	log, err := readLog(file.Name()+"-wal", pageSize)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat() // read after the log, because a running server moves pages from the log to the file
	if err != nil {
		return 0, err
	}
	pages := log.pages
	if pages == 0 { // nothing was committed to the log
		if !bytes.Equal(header[headerChanges:headerChanges+4], header[headerPagesAsOf:headerPagesAsOf+4]) {
			return 0, nil // the header does not record it
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

// writeAheadLog is the content of a log: the pages of its commits, and the database's number of pages after the last
// commit (0: no commit).
type writeAheadLog struct {
	has   map[int64]bool
	pages int64
}

const (
	logHeaderSize   = 32
	frameHeaderSize = 24
)

// readLog reads the headers of a log's frames. Frames from before a restart of the log have another salt.
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
