package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

const (
	// memoryBytes is the length of the longest line in memory. Longer ones use a file, so that the shim stays small.
	memoryBytes = 256 << 10
	// maxKeys bounds the remembered keys. They matter while a turn is open.
	maxKeys = 8192
)

// errCut means that a server disconnected in the middle of a line. The runtime gets nothing of that line.
var errCut = errors.New("the line was cut off")

// stdin passes whole lines to the runtime, each key once. The runtime gets a line completely or not at all, even if
// the server dies.
type stdin struct {
	out io.Writer
	dir string
	// opened runs for a call before its write.
	opened func(label string)

	mu    sync.Mutex
	keys  map[string]bool
	order []string
}

// readLine reads one line frame, or one of a call, and passes the line on.
//
// All lines share the caller's buffer: garbage would make this small process big.
func (s *stdin) readLine(r io.Reader, length int64, call bool, buffer *[]byte) error {
	if length < 2 {
		return errCut
	}
	size := grown(buffer, 2)
	if _, err := io.ReadFull(r, size); err != nil {
		return errCut
	}
	key := make([]byte, binary.BigEndian.Uint16(size))
	length -= 2 + int64(len(key))
	if length < 0 {
		return errCut
	}
	if _, err := io.ReadFull(r, key); err != nil {
		return errCut
	}
	if length <= memoryBytes {
		line := grown(buffer, int(length))
		if _, err := io.ReadFull(r, line); err != nil {
			return errCut
		}
		return s.write(string(key), call, func() error {
			_, err := s.out.Write(line)
			return err
		})
	}
	file, err := os.CreateTemp(s.dir, "line-*")
	if err != nil {
		return fmt.Errorf("keep a long line: %w", err)
	}
	defer func() { _ = file.Close() }()
	_ = os.Remove(file.Name()) // it exists while it is open
	from := &faultReader{r: r}
	if _, err := io.CopyN(file, from, length); err != nil {
		if from.err != nil {
			return errCut
		}
		return fmt.Errorf("keep a long line: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("keep a long line: %w", err)
	}
	return s.write(string(key), call, func() error {
		_, err := io.CopyBuffer(struct{ io.Writer }{s.out}, struct{ io.Reader }{file}, make([]byte, pumpBytes))
		return err
	})
}

// grown returns the buffer at a length. It reallocates only a buffer that is too short.
func grown(buffer *[]byte, length int) []byte {
	if cap(*buffer) < length {
		*buffer = make([]byte, max(length, 4<<10))
	}
	return (*buffer)[:length]
}

// write writes one line at a time. A runtime that accepts no input is about to exit, and its exit will show that.
func (s *stdin) write(key string, call bool, line func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case call:
		s.opened(key)
	case key != "":
		if s.keys[key] {
			return nil
		}
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[key] = true
		if s.order = append(s.order, key); len(s.order) > maxKeys {
			delete(s.keys, s.order[0])
			s.order = s.order[1:]
		}
	}
	_ = line()
	return nil
}

// faultReader records that a read failed.
type faultReader struct {
	r   io.Reader
	err error
}

func (f *faultReader) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil {
		f.err = err
	}
	return n, err
}
