// Package spool keeps what is too long for memory until it is sent: the beginning in memory, the rest in a file.
//
// It owns the file, which has no name, and how many bytes of files there may be. It must never know what is written.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sync/semaphore"
)

// pieceBytes is how much of a spool is in memory, being written or read.
const pieceBytes = 64 << 10

// ErrFull says that the folder's spools have all the bytes they may have.
var ErrFull = errors.New("too many long answers wait for their readers")

// Folder is where spools have their files.
type Folder struct {
	path          string
	bytes, memory *semaphore.Weighted
	buffers       sync.Pool
}

// NewFolder has spools in a folder; "" is the system's for temporary files. All of them have at most so many bytes in
// files, and so many in memory besides one piece each.
func NewFolder(path string, bytes, memory int64) *Folder {
	return &Folder{path: path, bytes: semaphore.NewWeighted(bytes), memory: semaphore.NewWeighted(memory),
		buffers: sync.Pool{New: func() any { return new([pieceBytes]byte) }}}
}

// New makes an empty spool. It must be closed.
func (f *Folder) New() *Spool {
	return &Spool{folder: f, pieces: []*[pieceBytes]byte{f.take()}}
}

func (f *Folder) take() *[pieceBytes]byte {
	buffer, _ := f.buffers.Get().(*[pieceBytes]byte)
	return buffer
}

// Spool is one of a folder's.
type Spool struct {
	folder *Folder
	// pieces are the beginning. The last one is being written: to it, or by way of it to the file, once there is one.
	pieces       []*[pieceBytes]byte
	held         int // bytes in the last piece
	file         *os.File
	filed, taken int64 // bytes in file, and those of the folder's budget
}

// before is how many bytes stand before the last piece.
func (s *Spool) before() int64 { return int64(len(s.pieces)-1) * pieceBytes }

// Size is how many bytes were written.
func (s *Spool) Size() int64 { return s.before() + s.filed + int64(s.held) }

// Write implements io.Writer: ErrFull, or an error of the folder.
func (s *Spool) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		if s.held == pieceBytes {
			if err := s.next(); err != nil {
				return written, err
			}
		}
		n := copy(s.pieces[len(s.pieces)-1][s.held:], p)
		s.held += n
		written += n
		p = p[n:]
	}
	return written, nil
}

// next makes room for another piece.
func (s *Spool) next() error {
	if s.file != nil || !s.folder.memory.TryAcquire(pieceBytes) {
		return s.flush()
	}
	s.pieces, s.held = append(s.pieces, s.folder.take()), 0
	return nil
}

func (s *Spool) flush() error {
	if s.file == nil {
		file, err := os.CreateTemp(s.folder.path, ".spool-")
		if err != nil {
			return fmt.Errorf("make a file for a long answer: %w", err)
		}
		s.file = file
		if err := os.Remove(file.Name()); err != nil {
			return fmt.Errorf("take the name of a long answer's file away: %w", err)
		}
	}
	if !s.folder.bytes.TryAcquire(int64(s.held)) {
		return ErrFull
	}
	s.taken += int64(s.held)
	if _, err := s.file.Write(s.pieces[len(s.pieces)-1][:s.held]); err != nil {
		return fmt.Errorf("write a long answer to its file: %w", err)
	}
	s.filed += int64(s.held)
	s.held = 0
	return nil
}

// Seal ends the writing, and makes stretches readable.
func (s *Spool) Seal() error {
	if s.file == nil || s.held == 0 {
		return nil
	}
	return s.flush()
}

// CopyTo writes a stretch of a sealed spool to a writer. It may be called by several at once.
func (s *Spool) CopyTo(w io.Writer, from, to int64) error {
	inMemory := s.Size()
	if s.file != nil {
		inMemory = s.before()
	}
	for from < min(to, inMemory) {
		at := from % pieceBytes
		piece := s.pieces[from/pieceBytes][at:min(pieceBytes, at+min(to, inMemory)-from)]
		if _, err := w.Write(piece); err != nil {
			return err
		}
		from += int64(len(piece))
	}
	if from >= to {
		return nil
	}
	buffer := s.folder.take()
	defer s.folder.buffers.Put(buffer)
	for from < to {
		piece := buffer[:min(to-from, pieceBytes)]
		if _, err := s.file.ReadAt(piece, from-inMemory); err != nil {
			return fmt.Errorf("read a long answer from its file: %w", err)
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
		from += int64(len(piece))
	}
	return nil
}

// Close gives up what was written. It may be called again.
func (s *Spool) Close() {
	if len(s.pieces) > 0 {
		s.folder.memory.Release(s.before())
	}
	for _, piece := range s.pieces {
		s.folder.buffers.Put(piece)
	}
	s.pieces = nil
	if s.file != nil {
		_ = s.file.Close() // it has no reader any more
		s.file = nil
	}
	s.folder.bytes.Release(s.taken)
	s.taken = 0
}
