package spool_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"harness/internal/lib/spool"
)

func TestStretchesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	path := t.TempDir()
	folder := spool.NewFolder(path, 1<<20, 100_000)
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 300_000} {
		s, written := folder.New(), make([]byte, 0, size)
		for len(written) < size {
			chunk := make([]byte, min(size-len(written), 1+random.IntN(100_000)))
			for i := range chunk {
				chunk[i] = byte(random.Uint32())
			}
			if n, err := s.Write(chunk); err != nil || n != len(chunk) {
				t.Fatal(n, err)
			}
			written = append(written, chunk...)
		}
		if err := s.Seal(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			from := random.IntN(size + 1)
			to := from + random.IntN(size-from+1)
			var read bytes.Buffer
			if err := s.CopyTo(&read, int64(from), int64(to)); err != nil || !bytes.Equal(read.Bytes(), written[from:to]) {
				t.Fatalf("%d bytes from %d to %d: %v", size, from, to, err)
			}
		}
		if s.Size() != int64(size) {
			t.Errorf("its size is %d, not %d", s.Size(), size)
		}
		s.Close()
		s.Close()
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

func TestFolderIsBounded(t *testing.T) {
	t.Parallel()
	folder := spool.NewFolder(t.TempDir(), 200_000, 0)
	first, second := folder.New(), folder.New()
	long := make([]byte, 190_000)
	for _, s := range []*spool.Spool{first, second} {
		if _, err := s.Write(long); err != nil && s == first || s == second && !errors.Is(err, spool.ErrFull) {
			t.Errorf("written: %v", err)
		}
	}
	first.Close()
	second.Close()
	third := folder.New()
	defer third.Close()
	if _, err := third.Write(long); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if err := third.Seal(); err != nil {
		t.Error(err)
	}
}

func TestMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	s := spool.NewFolder(t.TempDir()+"/none", 1<<20, 0).New()
	defer s.Close()
	if _, err := s.Write(make([]byte, 100_000)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("written to no folder: %v", err)
	}
}
