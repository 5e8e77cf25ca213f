package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"harness/internal/lib/boottime"
	"harness/internal/runtime/process"
)

// leasePoll is the interval at which a shim checks for bounds. With bounds it checks every second, so that it detects
// their end soon after a sleep of the machine.
const (
	leasePoll  = 5 * time.Second
	boundPoll  = time.Second
	frozenPoll = 250 * time.Millisecond
)

// leaseFile is a file in the folder of all shims of a data directory.
const leaseFile = "lease.json"

// Lease bounds how long the runtimes of a data directory may run without a renewal by their server. With several
// servers on one store, each runtime stops by itself when its server's lease expires, even if that server is dead.
// Times are those of boottime.Now.
type Lease struct{ RunDir string }

// bounds are the stored lease. They are void after a reboot of the machine.
type bounds struct {
	Boot string `json:"boot"`
	// Stop is when runtimes are frozen, Kill when they are killed.
	Stop time.Duration `json:"stop"`
	Kill time.Duration `json:"kill"`
}

// Hold lets runtimes run until stop. Then they are frozen (SIGSTOP), and killed at kill. A later Hold resumes them.
func (l Lease) Hold(stop, kill time.Duration) error {
	if err := os.MkdirAll(l.RunDir, 0o700); err != nil {
		return fmt.Errorf("make the folder of runtimes: %w", err)
	}
	path, now := filepath.Join(l.RunDir, leaseFile), bounds{Boot: process.Boot(), Stop: stop, Kill: kill}
	err := replaceJSON(path, now)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = overwriteJSON(path, now)
	}
	if err != nil {
		return fmt.Errorf("write how long runtimes may run: %w", err)
	}
	return nil
}

// Lift removes the bounds.
func (l Lease) Lift() error {
	if err := os.Remove(filepath.Join(l.RunDir, leaseFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("let runtimes run without a lease: %w", err)
	}
	return nil
}

// Held reports whether there are bounds.
func (l Lease) Held() bool {
	_, held, err := l.bounds()
	return held || err != nil
}

// bounds reads the bounds. It returns an error for an unreadable file; another process may be overwriting it.
func (l Lease) bounds() (b bounds, held bool, err error) {
	err = readJSON(filepath.Join(l.RunDir, leaseFile), &b)
	if errors.Is(err, fs.ErrNotExist) {
		return b, false, nil
	}
	return b, err == nil && b.Boot == process.Boot(), err
}

// overwriteJSON writes into an existing file, which needs no space on a full disk. A reader may see an incomplete
// file.
func overwriteJSON(path string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil {
		content = append(content, bytes.Repeat([]byte{' '}, max(0, int(info.Size())-len(content)))...)
		_, err = file.WriteAt(content, 0)
	}
	return errors.Join(err, file.Close())
}

// bounded is a shim with the lease of its server.
type bounded struct {
	lease  Lease
	server *server
	frozen bool
	// until are the last readable bounds, held means that there were some.
	until bounds
	held  bool
}

// obey applies the current lease, and returns when to check again.
func (b *bounded) obey() time.Duration {
	if until, held, err := b.lease.bounds(); err == nil {
		b.until, b.held = until, held
	}
	until, held := b.until, b.held
	now := boottime.Now()
	switch {
	case held && now >= until.Kill:
		b.server.fail("the lease of its server was over, and others may have ended its turns")
		return leasePoll
	case held && now >= until.Stop:
		b.frozen = true
		b.signal(syscall.SIGSTOP) // repeated each time: a command may have been starting
		return frozenPoll
	}
	if b.frozen {
		b.frozen = false
		b.signal(syscall.SIGCONT)
	}
	if held {
		return min(until.Stop-now, boundPoll)
	}
	return leasePoll
}

// signal sends a signal to the runtime and all its descendants.
func (b *bounded) signal(signal syscall.Signal) {
	pids, err := process.Carrying(GenerationVariable + "=" + b.server.spec.Generation)
	if err != nil {
		pids = []int{b.server.process.PID()}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may have exited
	}
}
