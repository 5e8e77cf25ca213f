package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
)

const (
	// idleStep is how often a process is looked through for what can be given back.
	idleStep = time.Second
	// pressed is by how much sooner a conversation is unloaded from a process above Options.RecycleBytes.
	pressed = 10
)

// unloadDelay is the setting of a conversation for how long codex keeps it after a request to unload it: half
// an hour if not set.
const unloadDelay = "thread_unload_delay_secs"

// giveBack unloads idle conversations until ctx ends, or until the process was taken out of service because of the
// memory it holds while nothing runs in it; then it returns *stdio.RetiredError.
func (c *Codex) giveBack(ctx context.Context, line *stdio.Conn, pid int) error {
	conn := connOf(line)
	ticker := time.Tick(min(idleStep, c.options.RecycleIdle))
	unloads := c.options.UnloadAfter > 0
	for {
		select {
		case <-ticker:
		case <-ctx.Done():
			return nil
		}
		limit, resident := c.options.UnloadAfter, process.Resident(pid)
		above := c.options.RecycleBytes > 0 && resident > c.options.RecycleBytes
		if above {
			limit /= pressed
		}
		if unloads {
			for _, thread := range conn.turns.idle(time.Now().Add(-limit)) {
				err := c.unload(ctx, conn, thread, time.Now().Add(-limit))
				if unknownMethod(err) {
					unloads = false // 0.101 keeps what it has loaded
					break
				}
				if err != nil && ctx.Err() == nil {
					c.options.Logger.Warn().Err(err).Str("session", thread).
						Msg("an idle session could not be unloaded from codex; tried again later")
				}
			}
		}
		if above && c.retire(ctx, conn) {
			return &stdio.RetiredError{
				Exit: fmt.Sprintf("it held %d MiB while it was idle", resident>>20),
				Message: fmt.Sprintf("codex held %d MiB while it was idle and is being restarted (HARNESS_RUNTIME_RECYCLE_MB)",
					resident>>20),
			}
		}
	}
}

// CloseThread implements runtime.Adapter: it asks codex to unload the thread, where that is supported (not in
// 0.101).
func (c *Codex) CloseThread(ctx context.Context, threadID string) error {
	own := connOf(c.process.Current())
	if own == nil {
		return nil
	}
	if own.turns.busy(threadID) {
		return fmt.Errorf("%w: in session %s", runtime.ErrTurnActive, threadID)
	}
	err := c.unload(ctx, own, threadID, time.Now())
	if unknownMethod(err) || errors.Is(err, runtime.ErrUnavailable) {
		return nil // it keeps all it has loaded; or it has just ended, and nothing is loaded any more
	}
	return err
}

// unload has codex forget a conversation that was not used since a time; whatever is asked of it next loads it again.
func (c *Codex) unload(ctx context.Context, conn *conn, thread string, since time.Time) error {
	if !conn.turns.beginUnload(thread, since) {
		return nil
	}
	unloaded := false
	defer func() { conn.turns.endUnload(thread, unloaded) }()
	if conn.AsksIn(thread) {
		return nil
	}
	if held, err := c.held(ctx, conn, thread); held || err != nil {
		return err
	}
	_, err := conn.Call(ctx, c.options.CallTimeout, "thread/unsubscribe", object{"threadId": thread})
	if unloaded = err == nil; unloaded {
		c.counters.unloads.Add(1)
	}
	return err
}

// loadedThreads are the conversations a process has loaded, those that servers before us had it load included.
func (c *Codex) loadedThreads(ctx context.Context, conn *conn) (threads []string, err error) {
	ask := func(ctx context.Context, method string, params object) (json.RawMessage, error) {
		return conn.Call(ctx, c.options.CallTimeout, method, params)
	}
	for id, err := range pages[string](ctx, ask, "thread/loaded/list", object{}) {
		if err != nil {
			return nil, err
		}
		threads = append(threads, id)
	}
	return threads, nil
}

// held reports whether something of a conversation is in the memory of its process only: a command of an earlier turn
// that still runs, or all of it, because codex writes one that was never used late (0.101) or not at all (an ephemeral
// one).
func (c *Codex) held(ctx context.Context, conn *conn, thread string) (bool, error) {
	if !conn.turns.stored(thread) {
		files, err := threadFiles(c.homeDir(), thread)
		written := slices.ContainsFunc(files, func(path string) bool {
			return strings.HasPrefix(filepath.Base(path), rolloutPrefix)
		})
		if !written || err != nil {
			return true, err
		}
	}
	return c.background(ctx, conn, thread)
}

// background reports whether commands of earlier turns still run in a conversation. They would end with it.
func (c *Codex) background(ctx context.Context, conn *conn, thread string) (bool, error) {
	terminals, err := c.terminals(ctx, conn, thread)
	if unknownMethod(err) {
		return conn.turns.commandRuns(thread), err
	}
	return len(terminals) > 0, err
}

// retire takes a process out of service when nothing runs in it and nothing waits for it.
func (c *Codex) retire(ctx context.Context, conn *conn) bool {
	seen, quiet := c.process.Uses(), time.Now().Add(-c.options.RecycleIdle)
	if c.busy(conn) || !c.process.Free(conn.Conn, seen, quiet) {
		return false
	}
	threads, err := c.loadedThreads(ctx, conn)
	if err != nil {
		return false
	}
	for _, thread := range threads {
		if held, err := c.held(ctx, conn, thread); held || err != nil && !unknownMethod(err) {
			return false
		}
	}
	quiet = time.Now().Add(-c.options.RecycleIdle)
	if !c.process.Retire(conn.Conn, seen, quiet, func() bool { return c.busy(conn) },
		"codex is restarted to give memory back") {
		return false
	}
	c.counters.recycles.Add(1)
	return true
}

// busy reports that something is in progress in a process: a turn, or a person's login. An unused process has
// its memory from the start.
func (c *Codex) busy(conn *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !time.Now().After(c.loginUntil) || !conn.Inherited() && !conn.turns.used() || conn.turns.running()
}
