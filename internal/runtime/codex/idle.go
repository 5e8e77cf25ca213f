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
	// idleStep is the interval of the checks.
	idleStep = time.Second
	// pressed divides the idle time of a conversation in a process above Options.RecycleBytes.
	pressed = 10
)

// unloadDelay is codex's setting for the time it keeps a conversation after a request to unload it: half an hour by
// default.
const unloadDelay = "thread_unload_delay_secs"

// recycler unloads idle conversations, and takes an idle process out of service when it uses too much memory.
type recycler struct {
	codex             *Codex
	unloads, recycles atomic.Int64

	mu sync.Mutex
	// loginUntil is the deadline of a login in progress: the browser reports its end to this process.
	loginUntil time.Time
}

// loginBegan keeps the process for a login that a user finishes in a browser.
func (r *recycler) loginBegan() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loginUntil = time.Now().Add(loginLimit)
}

// recycle unloads idle conversations until ctx ends. It returns *stdio.RetiredError after it took an idle process
// with too much memory out of service.
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
					unloads = false // 0.101 keeps all conversations loaded
					break
				}
				if err != nil && ctx.Err() == nil {
					r.codex.log.Warn().Err(err).Str("session", thread).
						Msg("cannot unload an idle session from codex; retrying later")
				}
			}
		}
		if above && r.retire(ctx, conn) {
			return &stdio.RetiredError{
				Exit: fmt.Sprintf("it held %d MiB while it was idle", resident>>20),
				Message: fmt.Sprintf("codex held %d MiB while it was idle and is being restarted (HARNESS_RUNTIME_LIMITS=memory-mb)",
					resident>>20),
			}
		}
	}
}

// CloseThread implements runtime.Threads. It unloads the thread, if codex supports that (not in 0.101).
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
		return nil // it keeps all loaded, or it has just exited
	}
	return err
}

// unload unloads a conversation that was idle since a time. The next request loads it again.
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

// loadedThreads returns the conversations that a process has loaded, including those of earlier servers.
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

// retains reports whether part of a conversation is only in the memory of a process: a running command of an earlier
// turn, or the whole of an unused one. codex writes unused ones late (0.101) or, if ephemeral, never.
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

// commandRuns reports whether commands of earlier turns are running in a conversation. They would end with it.
func (c *conn) commandRuns(ctx context.Context, thread string) (bool, error) {
	terminals, err := c.terminals(ctx, thread)
	if unknownMethod(err) {
		return c.turns.commandRuns(thread), err
	}
	return len(terminals) > 0, err
}

// retire takes an idle process out of service.
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

// busy reports whether a turn is running or a login is in progress. It is also true for an unused process, which
// needs its memory from the start.
func (r *recycler) busy(conn *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !time.Now().After(r.loginUntil) || !conn.Inherited() && !conn.turns.used() || conn.turns.running()
}
