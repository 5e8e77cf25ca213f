package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
)

// gauge is a value that must not grow over time.
type gauge struct {
	name, unit string
	// noise is how much it may grow in a whole soak, in addition to the share for every series (mayGrow).
	noise float64
	// bound is a value below which it need not be flat, 0 for none.
	bound  float64
	values []float64
	of     func() (float64, error)
}

const mib = 1 << 20

// sample samples everything until ctx ends, some hundred times.
func (s *soaking) sample(ctx context.Context, length time.Duration, home string) ([]*gauge, error) {
	db, err := s.store.open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	all := s.gauges(db, home, length)
	ticker := time.NewTicker(max(length/300, 500*time.Millisecond))
	defer ticker.Stop()
	for {
		for _, one := range all {
			value, err := one.of()
			if err != nil {
				return nil, fmt.Errorf("read the %s: %w", one.name, err)
			}
			one.values = append(one.values, value)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return all, nil
		}
	}
}

func (s *soaking) gauges(db *database.DB, home string, length time.Duration) []*gauge {
	server := s.cmd.Process.Pid
	metric := func(name string) func() (float64, error) { return func() (float64, error) { return s.metric(name) } }
	count := func(query string) func() (float64, error) {
		return func() (n float64, err error) {
			return n, db.Read().QueryRowContext(context.Background(), query).Scan(&n)
		}
	}
	size := func(paths ...string) func() (float64, error) {
		return func() (float64, error) { return folderSize(paths...) }
	}
	codex := func(of func(pid int) float64) func() (float64, error) {
		return func() (sum float64, err error) {
			pids, err := s.runtimes(home)
			for _, pid := range pids {
				sum += of(pid)
			}
			return sum, err
		}
	}
	// Until a few prunings of the journal, the journal and the database have not reached their final size.
	var youngEvents, youngDatabase float64
	if length < 5*time.Minute {
		youngEvents, youngDatabase = 50_000, 128
	}
	return []*gauge{
		{name: "server RSS", unit: "MiB", noise: 24, of: func() (float64, error) { return resident(server) / mib, nil }},
		{name: "server heap in use", unit: "MiB", noise: 16, of: func() (float64, error) {
			bytes, err := s.metric("go_memstats_heap_inuse_bytes")
			return bytes / mib, err
		}},
		{name: "server descriptors", unit: "", noise: 12, of: func() (float64, error) {
			return float64(descriptors(server)), nil
		}},
		{name: "goroutines", unit: "", noise: 40, of: metric("go_goroutines")},
		{name: "codex and shim RSS", unit: "MiB", noise: 48, bound: soakRecycle * 1.5,
			of: codex(func(pid int) float64 { return resident(pid) / mib })},
		{name: "codex and shim descriptors", unit: "", noise: 24,
			of: codex(func(pid int) float64 { return float64(descriptors(pid)) })},
		{name: "events in the journal", unit: "", noise: soakEvents, bound: youngEvents,
			of: count(`select pos - oldest + 1 from journal_head where id = 1`)},
		{name: "jobs that completed", unit: "", bound: math.Inf(1),
			of: count(`select count(*) from jobs where state = 'completed'`)},
		{name: "entries", unit: "", noise: 100, of: count(`select count(*) from transcript_entries`)},
		{name: "turns and requests", unit: "", noise: 20,
			of: count(`select (select count(*) from turns) + (select count(*) from interactive_requests)`)},
		{name: "database", unit: "MiB", noise: 8, bound: youngDatabase, of: size(filepath.Join(s.store.dir, "harness.db"))},
		{name: "its log", unit: "MiB", bound: 80, of: size(filepath.Join(s.store.dir, "harness.db-wal"))},
		{name: "spools and logs of runtimes", unit: "MiB", noise: 12, of: size(filepath.Join(s.store.dir, "run"))},
		{name: "codex's sessions", unit: "MiB", noise: 8,
			of: size(filepath.Join(home, "sessions"), filepath.Join(home, "archived_sessions"))},
	}
}

// runtimes returns the processes that run with the soak's home: codex, its shim and their children. It excludes the
// server itself.
func (s *soaking) runtimes(home string) (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	mark := []byte("CODEX_HOME=" + home + "\x00")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == s.cmd.Process.Pid || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if err == nil && bytes.Contains(environ, mark) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// resident returns the resident memory of a process in bytes, 0 if it has ended.
func resident(pid int) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := strings.Fields(string(raw)); err == nil && len(fields) > 1 {
		pages, _ := strconv.ParseFloat(fields[1], 64)
		return pages * float64(os.Getpagesize())
	}
	return 0
}

// descriptors returns the number of open files of a process, 0 if it has ended.
func descriptors(pid int) int {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(open)
}

// folderSize returns the total size of files and folders in MiB. It ignores a file that was removed during the scan.
func folderSize(paths ...string) (float64, error) {
	var bytes int64
	for _, path := range paths {
		err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return float64(bytes) / mib, nil
}
