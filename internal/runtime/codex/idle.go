package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
)

const (
	// idleStep is how often a process is checked for memory to release.
	idleStep = time.Second
	// pressed is by how much sooner a conversation is unloaded from a process above Options.RecycleBytes.
	pressed = 10
)

// unloadDelay is the setting of a conversation for how long codex keeps it after a request to unload it: half
// an hour if not set.
const unloadDelay = "thread_unload_delay_secs"

// recycler unloads idle conversations, and takes an idle process out of service when it holds too much memory.
type recycler struct {
	codex             *Codex
	unloads, recycles atomic.Int64

	mu sync.Mutex
	// loginUntil is when a login that was begun is given up: a browser brings its end to this process.
	loginUntil time.Time
}

// loginBegan keeps the process for a login that a person finishes in a browser.
func (r *recycler) loginBegan() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loginUntil = time.Now().Add(loginLimit)
}

// recycle unloads idle conversations until ctx ends, or until the process was taken out of service because of the
// memory it holds while nothing runs in it; then it returns *stdio.RetiredError.
func (r *recycler) recycle(ctx context.Context, line *stdio.Conn, pid int) error {
	conn := connOf(line)
	ticker := time.Tick(min(idleStep, r.codex.options.RecycleIdle))
	unloads := r.codex.options.UnloadAfter > 0
	for {
		select {
		case <-ticker:
		case <-ctx.Done():
			return nil
		}
		limit, resident := r.codex.options.UnloadAfter, process.Resident(pid)
		above := r.codex.options.RecycleBytes > 0 && resident > r.codex.options.RecycleBytes
		if above {
			limit /= pressed
		}
		if unloads {
			for _, thread := range conn.turns.idle(time.Now().Add(-limit)) {
				err := r.unload(ctx, conn, thread, time.Now().Add(-limit))
				if unknownMethod(err) {
					unloads = false // 0.101 keeps what it has loaded
					break
				}
				if err != nil && ctx.Err() == nil {
					r.codex.log.Warn().Err(err).Str("session", thread).
						Msg("an idle session could not be unloaded from codex; tried again later")
				}
			}
		}
		if above && r.retire(ctx, conn) {
			return &stdio.RetiredError{
				Exit: fmt.Sprintf("it held %d MiB while it was idle", resident>>20),
				Message: fmt.Sprintf("codex held %d MiB while it was idle and is being restarted (HARNESS_RUNTIME_RECYCLE_MB)",
					resident>>20),
			}
		}
	}
}

// CloseThread implements runtime.Threads: it asks codex to unload the thread, where that is supported (not in
// 0.101).
func (c *Codex) CloseThread(ctx context.Context, threadID string) error {
	own := connOf(c.process.Current())
	if own == nil {
		return nil
	}
	if own.turns.busy(threadID) {
		return fmt.Errorf("%w: in session %s", runtime.ErrTurnActive, threadID)
	}
	err := c.recycler.unload(ctx, own, threadID, time.Now())
	if unknownMethod(err) || errors.Is(err, runtime.ErrUnavailable) {
		return nil // it keeps all it has loaded; or it has just ended, and nothing is loaded any more
	}
	return err
}

// unload has codex forget a conversation that was not used since a time; whatever is asked of it next loads it again.
func (r *recycler) unload(ctx context.Context, conn *conn, thread string, since time.Time) error {
	if !conn.turns.beginUnload(thread, since) {
		return nil
	}
	unloaded := false
	defer func() { conn.turns.endUnload(thread, unloaded) }()
	if conn.AsksIn(thread) {
		return nil
	}
	if retained, err := r.retains(ctx, conn, thread); retained || err != nil {
		return err
	}
	_, err := conn.Call(ctx, r.codex.callTimeout, "thread/unsubscribe", object{"threadId": thread})
	if unloaded = err == nil; unloaded {
		r.unloads.Add(1)
	}
	return err
}

// loadedThreads are the conversations a process has loaded, those that servers before us had it load included.
func (c *conn) loadedThreads(ctx context.Context) (threads []string, err error) {
	ask := func(ctx context.Context, method string, params object) (json.RawMessage, error) {
		return c.Call(ctx, c.codex.callTimeout, method, params)
	}
	for id, err := range pages[string](ctx, ask, "thread/loaded/list", object{}) {
		if err != nil {
			return nil, err
		}
		threads = append(threads, id)
	}
	return threads, nil
}

// retains reports whether something of a conversation is in the memory of its process only: a command of an earlier turn
// that still runs, or all of it, because codex writes one that was never used late (0.101) or not at all (an ephemeral
// one).
func (r *recycler) retains(ctx context.Context, conn *conn, thread string) (bool, error) {
	if !conn.turns.stored(thread) {
		files, err := threadFiles(r.codex.rollouts.homeDir(), thread)
		written := slices.ContainsFunc(files, func(path string) bool {
			return strings.HasPrefix(filepath.Base(path), rolloutPrefix)
		})
		if !written || err != nil {
			return true, err
		}
	}
	return conn.commandRuns(ctx, thread)
}

// commandRuns reports whether commands of earlier turns still run in a conversation. They would end with it.
func (c *conn) commandRuns(ctx context.Context, thread string) (bool, error) {
	terminals, err := c.terminals(ctx, thread)
	if unknownMethod(err) {
		return c.turns.commandRuns(thread), err
	}
	return len(terminals) > 0, err
}

// retire takes a process out of service when nothing runs in it and nothing waits for it.
func (r *recycler) retire(ctx context.Context, conn *conn) bool {
	seen, quiet := r.codex.process.Uses(), time.Now().Add(-r.codex.options.RecycleIdle)
	if r.busy(conn) || !r.codex.process.Free(conn.Conn, seen, quiet) {
		return false
	}
	threads, err := conn.loadedThreads(ctx)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		if retained, err := r.retains(ctx, conn, thread); retained || err != nil && !unknownMethod(err) {
			return false
		}
	}
	quiet = time.Now().Add(-r.codex.options.RecycleIdle)
	if !r.codex.process.Retire(conn.Conn, seen, quiet, func() bool { return r.busy(conn) },
		"codex is restarted to give memory back") {
		return false
	}
	r.recycles.Add(1)
	return true
}

// busy reports that something is in progress in a process: a turn, or a person's login. An unused process has
// its memory from the start.
func (r *recycler) busy(conn *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !time.Now().After(r.loginUntil) || !conn.Inherited() && !conn.turns.used() || conn.turns.running()
}
