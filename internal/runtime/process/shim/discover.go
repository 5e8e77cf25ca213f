package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"time"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/confine"
)

// Found is a shim's folder.
type Found struct {
	Dir        string
	Generation string
	// State is the folder's state, without a shim id if that shim never started.
	State State
	// Alive reports whether the shim process exists: id and start time match its state.
	Alive bool
}

// Discover lists the live and dead shims of a run folder, oldest first. A missing folder has none.
func Discover(runDir string) ([]Found, error) {
	entries, err := os.ReadDir(runDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for shims: %w", err)
	}
	var all []Found
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		found, err := inspect(filepath.Join(runDir, entry.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	// Generations are UUIDv7, so they sort by time.
	sort.Slice(all, func(i, j int) bool { return all[i].Generation < all[j].Generation })
	return all, nil
}

func inspect(dir string) (Found, error) {
	found := Found{Dir: dir, Generation: filepath.Base(dir)}
	err := readJSON(filepath.Join(dir, stateFile), &found.State)
	var syntax *json.SyntaxError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &syntax) {
		// The shim never started, its folder is being deleted, or the machine went down before an unsynced file was
		// written. The spec at least names its runtime.
		found.State = State{}
		var spec Spec
		if readJSON(filepath.Join(dir, specFile), &spec) == nil {
			found.State.Runtime = spec.Runtime
		}
		return found, nil
	}
	if err != nil {
		return found, fmt.Errorf("read a shim's state: %w", err)
	}
	sameBoot := found.State.Boot == "" || found.State.Boot == process.Boot()
	found.Alive = sameBoot && found.State.PID > 0 && process.Started(found.State.PID) == found.State.Started
	return found, nil
}

// Confined returns the plan with which the shim starts its runtime.
func (f Found) Confined() (confine.Plan, error) {
	var spec Spec
	if err := readJSON(filepath.Join(f.Dir, specFile), &spec); err != nil {
		return confine.Plan{}, fmt.Errorf("read what a shim runs: %w", err)
	}
	return spec.Confine, nil
}

// Status requests the state of a live shim.
func Status(ctx context.Context, found Found) (State, error) {
	conn, w, err := converse(ctx, found, hello{Op: opStatus}, attachLimit)
	if err != nil {
		return State{}, err
	}
	_ = conn.Close()
	return w.State, nil
}

// Stop requests that a live shim end its runtime, and waits for that. Its folder stays, with the rest of the output.
func Stop(ctx context.Context, found Found, limit time.Duration) (State, error) {
	conn, w, err := converse(ctx, found, hello{Op: opStop}, limit)
	if err != nil {
		return State{}, err
	}
	_ = conn.Close()
	return w.State, nil
}

// Reap ends a shim and all processes its runtime started. It sends SIGTERM to the shim, which gives its runtime the
// promised time, then SIGKILL to every process of the generation. It returns the number of killed processes, and the
// folder's state.
func Reap(ctx context.Context, found Found) (after Found, killed int, err error) {
	if found.Alive {
		var spec Spec
		_ = readJSON(filepath.Join(found.Dir, specFile), &spec)
		_ = syscall.Kill(found.State.PID, syscall.SIGTERM)
		awaitEnd(ctx, found.State, spec.withDefaults().StopGrace+killWait)
	}
	killed, err = process.SweepCarrying(ctx, GenerationVariable+"="+found.Generation)
	if err != nil {
		return found, killed, err
	}
	after, err = inspect(found.Dir)
	return after, killed, err
}

// awaitEnd polls for the exit of a process that is not a child of this one.
func awaitEnd(ctx context.Context, state State, limit time.Duration) {
	ticker := time.Tick(5 * time.Millisecond)
	timer := time.After(limit)
	for process.Started(state.PID) == state.Started {
		select {
		case <-ticker:
		case <-timer:
			return
		case <-ctx.Done():
			return
		}
	}
}
