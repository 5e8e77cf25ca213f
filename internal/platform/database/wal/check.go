// Package wal checks SQLite's write-ahead log before SQLite does. SQLite treats a damaged frame as the end of the log
// and drops every commit after it.
//
// A damaged frame can be the end: a loss of power leaves unsynced data in any state. A Mark distinguishes the two
// cases. The server writes one after each sync, so a damaged frame before the mark was once intact on disk.
package wal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"slices"
)

const (
	headerSize      = 32
	frameHeaderSize = 24
	magic           = 0x377f0682 // plus 1 if words are big-endian
)

// DamageError is the damage of a log.
type DamageError struct {
	// Frame counts from 0; -1 is the log's header.
	Frame int
	// Behind counts the complete commits after the frame.
	Behind int
	// Bit is true if one flipped bit explains the damage: Mend would repair it.
	Bit bool
	// Cut is true if the log ends before the frame.
	Cut bool
}

// Error implements error.
func (e *DamageError) Error() string {
	what := fmt.Sprintf("frame %d of its log was synced and is damaged", e.Frame)
	switch {
	case e.Cut:
		return fmt.Sprintf("its log is cut off at frame %d, after which there was synced data", e.Frame)
	case e.Frame < 0:
		what = "the header of its log is damaged"
	}
	if e.Bit {
		return what + " (one bit is flipped; the server mends it when it starts)"
	}
	return fmt.Sprintf("%s (%d whole commits follow it)", what, e.Behind)
}

// Mend checks the log of a database, and repairs one flipped bit in the header and in each frame. It returns the number
// of repairs. If other synced data is damaged, it returns a *DamageError and changes nothing. A missing log counts as
// intact.
func Mend(database string) (mended int, err error) {
	found, err := scan(database)
	if err != nil || len(found.flips) == 0 {
		return 0, err
	}
	file, err := os.OpenFile(database+"-wal", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, flip := range found.flips {
		if _, err := file.WriteAt([]byte{flip.value}, flip.at); err != nil {
			return 0, fmt.Errorf("mend the database's log: %w", err)
		}
	}
	if err := file.Sync(); err != nil {
		return 0, fmt.Errorf("mend the database's log: %w", err)
	}
	return len(found.flips), nil
}

// Check is Mend without changes: damage that Mend would repair is a *DamageError, too.
func Check(database string) error {
	found, err := scan(database)
	if err == nil && len(found.flips) > 0 {
		err = &DamageError{Frame: found.flips[0].frame, Bit: true}
	}
	return err
}

// flip is a byte that must have another value.
type flip struct {
	frame int
	at    int64
	value byte
}

// scanner reads a log from its start.
type scanner struct {
	order binary.ByteOrder
	salt  uint64
	sum   checksum // checksum up to the current position
	flips []flip
}

// scan reads a log. It checks apparent damage a second time, because a server may be writing.
func scan(database string) (s *scanner, err error) {
	for range 3 {
		if s, err = scanOnce(database); err == nil || !errors.As(err, new(*DamageError)) {
			break
		}
	}
	return s, err
}

// scanOnce reads the mark first: it is valid for every later state of that log.
func scanOnce(database string) (*scanner, error) {
	s := &scanner{}
	mark, err := readMark(database)
	if err != nil {
		return s, fmt.Errorf("read the mark of the database's log: %w", err)
	}
	file, err := os.Open(database + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the database's log: %w", err)
	}
	defer func() { _ = file.Close() }()
	found := s.read(file, mark)
	if found == nil || !errors.As(found, new(*DamageError)) {
		return s, found
	}
	// A running server may have restarted the log: it is then empty or has another salt.
	var salt [8]byte
	switch _, err := file.ReadAt(salt[:], 16); {
	case errors.Is(err, io.EOF):
		return &scanner{}, nil
	case err != nil:
		return s, fmt.Errorf("read the database's log: %w", err)
	case s.salt != 0 && binary.BigEndian.Uint64(salt[:]) != s.salt:
		return &scanner{}, nil
	}
	return s, found
}

func (s *scanner) read(file io.Reader, mark Mark) error {
	in := bufio.NewReaderSize(file, 256<<10)
	header := make([]byte, headerSize)
	if n, err := io.ReadFull(in, header); n < headerSize {
		return unlessEnd(err)
	}
	if !s.header(header) {
		first, err := in.Peek(frameHeaderSize)
		if err != nil || binary.BigEndian.Uint64(first[8:]) != mark.Salt || mark.End == 0 {
			return unlessEnd(err) // it may never have been complete
		}
		return &DamageError{Frame: -1}
	}
	synced := mark.End
	if s.salt != mark.Salt {
		synced = 0
	}
	frame := make([]byte, frameHeaderSize+int64(binary.BigEndian.Uint32(header[8:])))
	for number, at := 0, int64(headerSize); ; number, at = number+1, at+int64(len(frame)) {
		n, err := io.ReadFull(in, frame)
		switch {
		case n < len(frame):
			if err := unlessEnd(err); err != nil || at >= synced {
				return err
			}
			return &DamageError{Frame: number, Cut: true}
		case s.frame(frame, peeked(in, len(frame)), number, at):
		case at >= synced:
			return nil // the end of the log
		default:
			behind, err := s.behind(in, frame)
			return errors.Join(err, &DamageError{Frame: number, Behind: behind})
		}
	}
}

// peeked returns the next bytes, if there are enough.
func peeked(in *bufio.Reader, size int) []byte {
	next, _ := in.Peek(size) // the read returns the same error
	return next
}

// unlessEnd returns a read's error, or nil for the end of the file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the database's log: %w", err)
	}
	return nil
}

// header processes the log's header, and reports whether it is intact or was repaired.
func (s *scanner) header(data []byte) bool {
	var mended []byte
	var made []flip
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		found, whole := repairs(data, order, checksum{}, 24, span{0, 24})
		if whole {
			found = []repair{{0, data[0], checksum{}}}
		}
		for _, one := range found {
			candidate := append([]byte(nil), data...)
			candidate[one.at] = one.value
			if !plausible(candidate, order) {
				continue
			}
			s.order, mended = order, candidate
			made = append(made, flip{-1, int64(one.at), one.value})
		}
	}
	if len(made) != 1 {
		return false
	}
	if mended[made[0].at] != data[made[0].at] {
		s.flips = made
	}
	copy(data, mended)
	s.salt, s.sum = binary.BigEndian.Uint64(data[16:]), stored(data[24:])
	return true
}

// plausible reports whether a header has the constant values.
func plausible(header []byte, order binary.ByteOrder) bool {
	const version = 3_007_000
	page := binary.BigEndian.Uint32(header[8:])
	return binary.BigEndian.Uint32(header) == magic+isBig(order) && binary.BigEndian.Uint32(header[4:]) == version &&
		bits.OnesCount32(page) == 1 && page >= 512 && page <= 65536
}

func isBig(order binary.ByteOrder) uint32 {
	if order == binary.BigEndian {
		return 1
	}
	return 0
}

// frame advances past a frame, and reports whether it is intact or was repaired. next is the frame after it, if any:
// the right repair makes next intact, too.
func (s *scanner) frame(data, next []byte, number int, at int64) bool {
	salts := binary.BigEndian.Uint64(data[8:]) ^ s.salt
	found, whole := repairs(data, s.order, s.sum, 16, frameSpans(data)...)
	switch bits.OnesCount64(salts) {
	case 0:
	case 1:
		bit := bits.LeadingZeros64(salts)
		found = nil
		if whole {
			found = []repair{{8 + bit/8, data[8+bit/8] ^ 0x80>>(bit%8), stored(data[16:])}}
		}
		whole = false
	default:
		return false
	}
	if whole {
		s.sum = stored(data[16:])
		return true
	}
	if len(found) > 1 && len(next) == len(data) {
		found = slices.DeleteFunc(found, func(one repair) bool {
			_, whole := repairs(next, s.order, one.sum, 16, frameSpans(next)...)
			return !whole
		})
	}
	if len(found) != 1 {
		return false
	}
	s.flips = append(s.flips, flip{number, at + int64(found[0].at), found[0].value})
	s.sum = found[0].sum
	return true
}

// frameSpans returns the parts of a frame that the sum covers: all but the salt and the sum itself.
func frameSpans(frame []byte) []span { return []span{{0, 8}, {frameHeaderSize, len(frame)}} }

// behind counts the complete commits after a damaged frame: the checksums continue from the one stored in it.
func (s *scanner) behind(in io.Reader, frame []byte) (commits int, err error) {
	for {
		s.sum = stored(frame[16:])
		if n, err := io.ReadFull(in, frame); n < len(frame) {
			return commits, unlessEnd(err)
		}
		if binary.BigEndian.Uint64(frame[8:]) != s.salt {
			return commits, nil
		}
		whole := s.sum.over(frame[:8], s.order).over(frame[frameHeaderSize:], s.order) == stored(frame[16:])
		if whole && binary.BigEndian.Uint32(frame[4:]) != 0 {
			commits++
		}
	}
}
