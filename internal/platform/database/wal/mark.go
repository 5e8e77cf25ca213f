package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
)

// Mark records how much of a log is on disk: the bytes before End in the log with that Salt. The zero value covers
// nothing.
type Mark struct {
	Salt uint64
	End  int64
}

const (
	markMagic = "HRNSYNC1"
	markSize  = len(markMagic) + 8 + 8 + 4
)

// markPath returns the file with the mark of a database's log.
func markPath(database string) string { return database + "-synced" }

// Marker writes the marks of one database's log. One goroutine at a time uses it.
type Marker struct {
	file *os.File
	last Mark
}

// OpenMarker opens a database's mark file for writing, and creates it if missing.
func OpenMarker(database string) (*Marker, error) {
	file, err := os.OpenFile(markPath(database), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the mark of the database's log: %w", err)
	}
	return &Marker{file: file}, nil
}

// Put writes a mark after the log's bytes reached the disk. It is not synced: after a loss of power the file holds some
// mark, and each was true when it was written.
func (m *Marker) Put(mark Mark) error {
	if mark.End == 0 || mark == m.last {
		return nil
	}
	var data [markSize]byte
	at := append(data[:0], markMagic...)
	at = binary.BigEndian.AppendUint64(at, mark.Salt)
	at = binary.BigEndian.AppendUint64(at, uint64(mark.End)) //nolint:gosec // an offset
	at = binary.BigEndian.AppendUint32(at, crc32.Checksum(at, crc32.MakeTable(crc32.Castagnoli)))
	if _, err := m.file.WriteAt(at, 0); err != nil {
		return fmt.Errorf("write the mark of the database's log: %w", err)
	}
	m.last = mark
	return nil
}

// Close closes the file, and removes it if the log is gone.
func (m *Marker) Close(gone bool) error {
	err := m.file.Close()
	if !gone {
		return err
	}
	if removed := os.Remove(m.file.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return errors.Join(err, removed)
	}
	return err
}

// readMark reads the mark of a database's log. A missing, torn or damaged mark covers nothing.
func readMark(database string) (Mark, error) {
	file, err := os.Open(markPath(database))
	if errors.Is(err, fs.ErrNotExist) {
		return Mark{}, nil
	}
	if err != nil {
		return Mark{}, err
	}
	defer func() { _ = file.Close() }()
	data := make([]byte, markSize)
	if _, err := io.ReadFull(file, data); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return Mark{}, nil
	} else if err != nil {
		return Mark{}, err
	}
	sum := binary.BigEndian.Uint32(data[markSize-4:])
	if string(data[:len(markMagic)]) != markMagic || crc32.Checksum(data[:markSize-4], crc32.MakeTable(crc32.Castagnoli)) != sum {
		return Mark{}, nil
	}
	rest := data[len(markMagic):]
	return Mark{binary.BigEndian.Uint64(rest), int64(binary.BigEndian.Uint64(rest[8:]))}, nil //nolint:gosec // as it was written
}
