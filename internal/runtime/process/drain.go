package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// drainIdle is how long the pipe of a dead process may stay silent before it counts as closed. It applies only if a
// grandchild inherited the pipe: otherwise the pipe closes at once.
const drainIdle = 500 * time.Millisecond

// drainable is the read end of a pipe that ends with its process, even if a grandchild still has the write end open.
type drainable struct {
	file   *os.File
	gone   chan struct{}
	closed chan struct{}
	once   sync.Once
	// limit bounds reading after the end of the process, 0 for no bound.
	limit time.Duration
	until time.Time
}

func newDrainable(file *os.File, limit time.Duration) *drainable {
	return &drainable{file: file, limit: limit, gone: make(chan struct{}), closed: make(chan struct{})}
}

// finish marks the process as gone. It wakes a blocked reader.
func (d *drainable) finish() {
	d.until = time.Now().Add(d.limit)
	close(d.gone)
	_ = d.file.SetReadDeadline(time.Now())
}

func (d *drainable) close() {
	d.once.Do(func() {
		_ = d.file.Close()
		close(d.closed)
	})
}

// Read implements io.Reader.
func (d *drainable) Read(b []byte) (int, error) {
	draining := false
	for {
		select {
		case <-d.gone:
			// Set before every read: a slow consumer must not lose the data in the pipe.
			draining = true
			if d.limit > 0 && time.Now().After(d.until) {
				return 0, io.EOF
			}
			_ = d.file.SetReadDeadline(time.Now().Add(drainIdle))
		default:
		}
		n, err := d.file.Read(b)
		switch {
		case n > 0:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && !draining:
			continue
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
	}
}
