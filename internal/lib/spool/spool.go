// Package spool buffers long responses until they are sent: the beginning in memory, the rest in a file.
//
// It owns the file, which has no name, and the total bytes of such files. It must never know the content.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sync/semaphore"
)

// chunkBytes is the size of the parts of a spool that are in memory while they are written or read.
const chunkBytes = 64 << 10

// ErrFull means that the folder's spools have reached their byte limit.
var ErrFull = errors.New("too many long answers wait for their readers")

// Folder holds the files of spools.
type Folder struct {
	path          string
	bytes, memory *semaphore.Weighted
	buffers       sync.Pool
}

// NewFolder makes spools in a folder; "" is the system's folder for temporary files. bytes limits their total size in
// files, memory that in memory, besides one chunk each.
func NewFolder(path string, bytes, memory int64) *Folder {
	return &Folder{path: path, bytes: semaphore.NewWeighted(bytes), memory: semaphore.NewWeighted(memory),
		buffers: sync.Pool{New: func() any { return new([chunkBytes]byte) }}}
}

// New makes an empty spool. The caller must close it.
func (f *Folder) New() *Spool {
	return &Spool{folder: f, chunks: []*[chunkBytes]byte{f.reserve()}}
}

func (f *Folder) reserve() *[chunkBytes]byte {
	buffer, _ := f.buffers.Get().(*[chunkBytes]byte)
	return buffer
}

// Spool is one buffered response.
type Spool struct {
	folder *Folder
	// chunks are the beginning. Writes go to the last chunk. Once there is a file, a full last chunk goes to it.
	chunks       []*[chunkBytes]byte
	held         int // bytes in the last chunk
	file         *os.File
	filed, taken int64 // bytes in the file, and bytes taken from the folder's budget
}

// before returns the number of bytes before the last chunk.
func (s *Spool) before() int64 { return int64(len(s.chunks)-1) * chunkBytes }

// Size returns the number of bytes written.
func (s *Spool) Size() int64 { return s.before() + s.filed + int64(s.held) }

// Write implements io.Writer: ErrFull, or an error of the folder.
func (s *Spool) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		if s.held == chunkBytes {
			if err := s.next(); err != nil {
				return written, err
			}
		}
		n := copy(s.chunks[len(s.chunks)-1][s.held:], p)
		s.held += n
		written += n
		p = p[n:]
	}
	return written, nil
}

// next makes room for another chunk.
func (s *Spool) next() error {
	if s.file != nil || !s.folder.memory.TryAcquire(chunkBytes) {
		return s.flush()
	}
	s.chunks, s.held = append(s.chunks, s.folder.reserve()), 0
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
			return fmt.Errorf("unlink a long answer's file: %w", err)
		}
	}
	if !s.folder.bytes.TryAcquire(int64(s.held)) {
		return ErrFull
	}
	s.taken += int64(s.held)
	if _, err := s.file.Write(s.chunks[len(s.chunks)-1][:s.held]); err != nil {
		return fmt.Errorf("write a long answer to its file: %w", err)
	}
	s.filed += int64(s.held)
	s.held = 0
	return nil
}

// Seal ends writing and makes ranges readable.
func (s *Spool) Seal() error {
	if s.file == nil || s.held == 0 {
		return nil
	}
	return s.flush()
}

// CopyTo writes a range of a sealed spool to a writer. Concurrent calls are allowed.
func (s *Spool) CopyTo(w io.Writer, from, to int64) error {
	inMemory := s.Size()
	if s.file != nil {
		inMemory = s.before()
	}
	for from < min(to, inMemory) {
		at := from % chunkBytes
		chunk := s.chunks[from/chunkBytes][at:min(chunkBytes, at+min(to, inMemory)-from)]
		if _, err := w.Write(chunk); err != nil {
			return err
		}
		from += int64(len(chunk))
	}
	if from >= to {
		return nil
	}
	buffer := s.folder.reserve()
	defer s.folder.buffers.Put(buffer)
	for from < to {
		chunk := buffer[:min(to-from, chunkBytes)]
		if _, err := s.file.ReadAt(chunk, from-inMemory); err != nil {
			return fmt.Errorf("read a long answer from its file: %w", err)
		}
		if _, err := w.Write(chunk); err != nil {
			return err
		}
		from += int64(len(chunk))
	}
	return nil
}

// Close discards the content. It may be called again.
func (s *Spool) Close() {
	if len(s.chunks) > 0 {
		s.folder.memory.Release(s.before())
	}
	for _, chunk := range s.chunks {
		s.folder.buffers.Put(chunk)
	}
	s.chunks = nil
	if s.file != nil {
		_ = s.file.Close() // it has no more readers
		s.file = nil
	}
	s.folder.bytes.Release(s.taken)
	s.taken = 0
}
