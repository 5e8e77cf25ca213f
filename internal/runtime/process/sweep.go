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

// MarkVariable is the environment variable that carries the mark of a runtime process. Everything the runtime starts
// inherits it, so commands that left the process group and lost their parent can still be found.
const MarkVariable = "HARNESS_RUNTIME_MARK"

// sweepPause is the time between two looks; a killed process needs a moment to go.
const sweepPause = 5 * time.Millisecond

// Marker is the mark of the runtime called name of the server that owns the data directory. It stays the same over
// restarts, so that a new server sweeps what a killed one left.
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

// Sweep kills (SIGKILL) every process that carries the mark and returns how many it found, when they are gone. It must
// only be called while no runtime of that mark is meant to run: after it exited, and at server start. A command that
// cleared its environment is not found.
//
// It is needed because the commands codex runs have their own sessions: they survive a SIGKILLed codex and a kill of
// its process group. Processes whose environment has one of the assignments (NAME=value) to spare are left alone.
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

// Marked are the ids of the living processes that carry the mark, without this process.
func Marked(mark string) ([]int, error) { return Carrying(MarkVariable + "=" + mark) }

// Carrying are the ids of the living processes whose environment has the assignment (NAME=value), without this process.
func Carrying(assignment string) ([]int, error) { return carrying(assignment, nil) }

func carrying(assignment string, spare []string) ([]int, error) {
	// One look at a process decides: with a second one for what is spared, a process whose environment can not be read
	// just then would die.
	pids, err := marked(func(carries func(assignment string) bool) bool {
		return carries(assignment) && !slices.ContainsFunc(spare, carries)
	})
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == os.Getpid() }), err
}
