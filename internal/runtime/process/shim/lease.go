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

// leaseLook is how often a shim looks for bounds; while there are some it looks every second, so that it finds them over
// soon after a sleep of the machine.
const (
	leaseLook  = 5 * time.Second
	boundLook  = time.Second
	frozenLook = 250 * time.Millisecond
)

// leaseFile is in the folder of all shims of a data directory.
const leaseFile = "lease.json"

// Lease bounds how long the runtimes of a data directory may run without a word of their server: beside other servers
// on one store each stops by itself when that one's lease is over, whether it lives or not. Times are those of
// boottime.Now.
type Lease struct{ RunDir string }

// bounds are the lease as it is kept. Of another run of the machine they say nothing.
type bounds struct {
	Boot string `json:"boot"`
	// Stop is from when on runtimes are frozen, Kill from when on they end.
	Stop time.Duration `json:"stop"`
	Kill time.Duration `json:"kill"`
}

// Hold lets runtimes go on until stop; from then on they are frozen (SIGSTOP), and they end at kill. Holding on later
// lets them go on where they were.
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

// Lift takes the bounds away.
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

// bounds are those that are held. An error is that of a file that is there and says nothing: it may just be overwritten.
func (l Lease) bounds() (b bounds, held bool, err error) {
	err = readJSON(filepath.Join(l.RunDir, leaseFile), &b)
	if errors.Is(err, fs.ErrNotExist) {
		return b, false, nil
	}
	return b, err == nil && b.Boot == process.Boot(), err
}

// overwriteJSON writes into a file that is there, which takes no space on a disk that is full. A reader may see a part.
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

// bounded is a shim under the lease of its server.
type bounded struct {
	lease  Lease
	server *server
	frozen bool
	// until are the bounds as they could be read last, held that there were some.
	until bounds
	held  bool
}

// obey applies the present lease, and returns when to check again.
func (b *bounded) obey() time.Duration {
	if until, held, err := b.lease.bounds(); err == nil {
		b.until, b.held = until, held
	}
	until, held := b.until, b.held
	now := boottime.Now()
	switch {
	case held && now >= until.Kill:
		b.server.fail("the lease of its server was over, and others may have ended its turns")
		return leaseLook
	case held && now >= until.Stop:
		b.frozen = true
		b.signal(syscall.SIGSTOP) // again each time: a command may have been about to start
		return frozenLook
	}
	if b.frozen {
		b.frozen = false
		b.signal(syscall.SIGCONT)
	}
	if held {
		return min(until.Stop-now, boundLook)
	}
	return leaseLook
}

// signal reaches the runtime and all it started.
func (b *bounded) signal(signal syscall.Signal) {
	pids, err := process.Carrying(GenerationVariable + "=" + b.server.spec.Generation)
	if err != nil {
		pids = []int{b.server.process.PID()}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal) // it may have ended
	}
}
