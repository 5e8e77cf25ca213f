package shim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const segmentSuffix = ".seg"

// spool is the unacknowledged output of the runtime: files named after the offset of their first byte.
type spool struct {
	dir          string
	segmentBytes int64
	limit        int64

	mu      sync.Mutex
	changed *sync.Cond
	// oldest and end bound the spooled part, acked is the acknowledged offset, starts are the first offsets of the
	// files.
	oldest, end, acked int64
	starts             []int64
	last               *os.File
	sums               sums
	closed             bool
	// stalled: a write waits, because the limit is reached or the disk is full. The shim then does not read the
	// runtime.
	stalled bool
	given   chan struct{} // closed when writes no longer wait for disk space
}

// spaceAgain is the retry interval on a full disk.
const spaceAgain = 100 * time.Millisecond

func newSpool(dir string, segmentBytes, limit int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the spool: %w", err)
	}
	s := &spool{dir: dir, segmentBytes: segmentBytes, limit: limit, given: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	return s, s.open()
}

func segmentPath(dir string, start int64) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", start, segmentSuffix))
}

// open starts the next file at the end. The caller holds the lock, or no other goroutine uses the spool.
func (s *spool) open() error {
	file, err := os.OpenFile(segmentPath(s.dir, s.end), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open a spool file: %w", err)
	}
	if s.last != nil {
		_ = s.last.Close()
	}
	s.last = file
	s.sums.close()
	s.sums = openSums(file.Name())
	s.starts = append(s.starts, s.end)
	return nil
}

// write appends. It waits while the spool is full, until close, and while the disk is full, until abandon. During the
// wait the shim does not read the runtime, which waits too. After an error, earlier output stays readable.
func (s *spool) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.stall(false)
	for !s.closed && s.end > s.acked && s.end-s.acked+int64(len(b)) > s.limit {
		s.stall(true)
		s.changed.Wait()
	}
	for {
		n, err := s.append(b)
		b = b[n:]
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return err
		}
		s.stall(true)
		if !s.awaitSpace() {
			return err
		}
	}
}

// stall stores whether a write waits. The caller holds the lock.
func (s *spool) stall(waits bool) {
	if s.stalled != waits {
		s.stalled = waits
		s.changed.Broadcast()
	}
}

// awaitSpace releases the lock briefly; false when there was no space for too long.
func (s *spool) awaitSpace() bool {
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-time.After(spaceAgain):
		return true
	case <-s.given:
		return false
	}
}

// abandon ends the wait for disk space.
func (s *spool) abandon() { close(s.given) }

// append writes as much as fits. The caller holds the lock; append releases it during the write.
func (s *spool) append(b []byte) (int, error) {
	if s.end-s.starts[len(s.starts)-1] >= s.segmentBytes {
		if err := s.open(); err != nil {
			return 0, err
		}
		s.trim()
	}
	// Readers may continue: only this goroutine moves the end.
	file := s.last
	s.mu.Unlock()
	n, err := file.Write(b)
	s.sums.add(b[:n])
	s.mu.Lock()
	s.end += int64(n)
	s.changed.Broadcast()
	if err != nil {
		return n, fmt.Errorf("write to the spool: %w", err)
	}
	return n, nil
}

// lift removes the limit: only the small rest of a pipe follows.
func (s *spool) lift() { s.locked(func() { s.limit = 1 << 62 }) }

// close marks the end of the output.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

// ack deletes the whole files before the offset.
func (s *spool) ack(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset <= s.acked || offset > s.end {
		return
	}
	s.acked = offset
	s.trim()
	s.changed.Broadcast()
}

func (s *spool) trim() {
	for len(s.starts) > 1 && s.starts[1] <= s.acked {
		first := segmentPath(s.dir, s.starts[0])
		_, _ = os.Remove(first), os.Remove(sumPath(first))
		s.starts = s.starts[1:]
		s.oldest = s.starts[0]
	}
}

func (s *spool) bounds() (oldest, end, acked int64, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oldest, s.end, s.acked, s.closed
}

// wait returns when there is output after the offset, after close, or when other returns true. It calls other with
// the spool locked.
func (s *spool) wait(offset int64, other func() bool) (end int64, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.end <= offset && !s.closed && !other() {
		s.changed.Wait()
	}
	return s.end, s.closed
}

// locked runs do with the spool locked and wakes waiters.
func (s *spool) locked(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	s.changed.Broadcast()
}

// segments reads a spool folder of a live or a dead shim. Recent writes come from memory; data that may have been on
// the disk is verified.
type segments struct {
	dir   string
	check bool
	whole int64 // number of intact bytes of the file, -1 for all
	file  *os.File
	start int64
	next  int64 // start of the following file, 0 if unknown
}

// readAt reads at the offset. It returns io.EOF when there is no data. The end of a file is not the end of a live
// spool.
func (r *segments) readAt(b []byte, offset int64) (int, error) {
	for {
		if r.file == nil || offset < r.start || (r.next > 0 && offset >= r.next) {
			if err := r.seek(offset); err != nil {
				return 0, err
			}
		}
		if r.next > 0 && int64(len(b)) > r.next-offset {
			b = b[:r.next-offset]
		}
		if r.whole >= 0 {
			if offset-r.start >= r.whole {
				return 0, &DamageError{r.start + r.whole}
			}
			b = b[:min(int64(len(b)), r.start+r.whole-offset)]
		}
		n, err := r.file.ReadAt(b, offset-r.start)
		if n > 0 {
			return n, nil
		}
		if !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read the spool: %w", err)
		}
		// The shim may have started a new file.
		before := r.start
		if err := r.seek(offset); err != nil {
			return 0, err
		}
		if r.start == before {
			return 0, io.EOF
		}
	}
}

// seek opens the file with the offset.
func (r *segments) seek(offset int64) error {
	starts, err := segmentStarts(r.dir)
	if err != nil {
		return err
	}
	i := sort.Search(len(starts), func(i int) bool { return starts[i] > offset }) - 1
	if i < 0 {
		return fmt.Errorf("the spool does not hold offset %d any more", offset)
	}
	r.next = 0
	if i+1 < len(starts) {
		r.next = starts[i+1]
	}
	if r.file != nil && r.start == starts[i] {
		return nil
	}
	r.close()
	r.file, err = os.Open(segmentPath(r.dir, starts[i]))
	if err != nil {
		return fmt.Errorf("open a spool file: %w", err)
	}
	if r.whole = -1; r.check {
		if r.whole, err = wholeBytes(r.file.Name()); err != nil {
			return fmt.Errorf("check a spool file: %w", err)
		}
	}
	r.start = starts[i]
	return nil
}

func (r *segments) close() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// Span is a part of a spool. One goroutine reads it.
type Span struct {
	segments segments
	at, to   int64
	err      error
}

// Spooled reads a shim's spool between two offsets, without the shim.
func Spooled(found Found, from, to int64) *Span {
	return &Span{segments: segments{dir: spoolPath(found.Dir), check: true}, at: from, to: to}
}

// Read implements io.Reader.
func (s *Span) Read(b []byte) (int, error) {
	if s.at >= s.to {
		return 0, io.EOF
	}
	n, err := s.segments.readAt(b[:min(int64(len(b)), s.to-s.at)], s.at)
	s.at += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// Err returns the error that ended the reading early; otherwise nil.
func (s *Span) Err() error { return s.err }

// Close implements io.Closer.
func (s *Span) Close() error {
	s.segments.close()
	return nil
}

func segmentStarts(dir string) ([]int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	var starts []int64
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), segmentSuffix)
		if !ok {
			continue
		}
		if start, err := strconv.ParseInt(name, 10, 64); err == nil {
			starts = append(starts, start)
		}
	}
	sort.Slice(starts, func(a, b int) bool { return starts[a] < starts[b] })
	return starts, nil
}

// SpoolBytes returns the disk space of all spools in a run folder.
func SpoolBytes(runDir string) int64 {
	var sum int64
	_ = filepath.WalkDir(runDir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, segmentSuffix) {
			if info, err := entry.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil // files may appear and disappear during the walk
	})
	return sum
}
