package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// MarkVariable is the environment variable with the mark of a runtime process. All child processes inherit it, so
// that a sweep can find commands that left the process group and lost their parent.
const MarkVariable = "HARNESS_RUNTIME_MARK"

// sweepPause is the time between two scans; a killed process needs some time to exit.
const sweepPause = 5 * time.Millisecond

// Marker returns the mark of the named runtime of the server that owns the data directory. It is the same after
// restarts, so that a new server can sweep the leftovers of a killed one.
func Marker(dataDir, name string) string {
	if abs, err := filepath.Abs(dataDir); err == nil {
		dataDir = abs
	}
	if real, err := filepath.EvalSymlinks(dataDir); err == nil {
		dataDir = real
	}
	sum := sha256.Sum256([]byte(dataDir))
	return name + "-" + hex.EncodeToString(sum[:12])
}

// Sweep kills (SIGKILL) every process with the mark, waits until they are gone, and returns how many it found. Call
// it only while no runtime with that mark should run: after it exited, and at server start. It does not find a
// command that cleared its environment.
//
// It is needed because the commands of codex have separate sessions: they survive a SIGKILLed codex and a kill of its
// process group. Sweep skips processes with one of the assignments (NAME=value) in spare in their environment.
func Sweep(ctx context.Context, mark string, spare ...string) (killed int, err error) {
	if mark == "" {
		return 0, nil
	}
	return SweepCarrying(ctx, MarkVariable+"="+mark, spare...)
}

// SweepCarrying is Sweep for any assignment (NAME=value) in the environment.
func SweepCarrying(ctx context.Context, assignment string, spare ...string) (killed int, err error) {
	seen := map[int]bool{}
	for {
		pids, err := carrying(assignment, spare)
		if err != nil {
			return len(seen), fmt.Errorf("look for leftover runtime processes: %w", err)
		}
		for _, pid := range pids {
			seen[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) == 0 {
			return len(seen), nil
		}
		timer := time.NewTimer(sweepPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return len(seen), fmt.Errorf("%d leftover runtime processes do not go away: %w", len(pids), ctx.Err())
		}
	}
}

// Marked returns the ids of the live processes with the mark, without this process.
func Marked(mark string) ([]int, error) { return Carrying(MarkVariable + "=" + mark) }

// Carrying returns the ids of the live processes with the assignment (NAME=value) in their environment, without this
// process.
func Carrying(assignment string) ([]int, error) { return carrying(assignment, nil) }

func carrying(assignment string, spare []string) ([]int, error) {
	// One read of the environment decides. With a second read for the spared ones, a process with a temporarily
	// unreadable environment would die.
	pids, err := marked(func(carries func(assignment string) bool) bool {
		return carries(assignment) && !slices.ContainsFunc(spare, carries)
	})
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == os.Getpid() }), err
}
