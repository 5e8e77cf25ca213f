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

	"harness/runtime"
	"harness/runtime/process"
)

const (
	// idleStep is how often a process is looked through for what can be given back.
	idleStep = time.Second
	// pressed is by how much sooner a conversation is unloaded from a process above Options.RecycleBytes.
	pressed = 10
)

// unloadDelay is the configuration of a conversation that says how long codex keeps it when it was told to let go of it: half an hour if not
// set.
const unloadDelay = "thread_unload_delay_secs"

// recycledError says that a process was ended because of the memory it held while nothing ran in it.
type recycledError struct{ bytes int64 }

// Error implements error.
func (e *recycledError) Error() string {
	return fmt.Sprintf("codex held %d MiB while it was idle and is being restarted (HARNESS_RUNTIME_RECYCLE_MB)", e.bytes>>20)
}

// giveBack unloads idle conversations until ctx ends, or until the process was taken out of service; then it returns *recycledError.
func (c *Codex) giveBack(ctx context.Context, conn *conn, l *link) error {
	ticker := time.NewTicker(min(idleStep, c.options.RecycleIdle))
	defer ticker.Stop()
	unloads := c.options.UnloadAfter > 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		limit, resident := c.options.UnloadAfter, process.Resident(l.pid)
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
					c.options.Logger.Warn().Err(err).Str("session", thread).Msg("an idle session could not be unloaded from codex; tried again later")
				}
			}
		}
		if above && c.retire(ctx, conn) {
			return &recycledError{bytes: resident}
		}
	}
}

// unload has codex forget a conversation that was not used since a time; whatever is asked of it next loads it again.
func (c *Codex) unload(ctx context.Context, conn *conn, thread string, since time.Time) error {
	if !conn.turns.beginUnload(thread, since) {
		return nil
	}
	unloaded := false
	defer func() { conn.turns.endUnload(thread, unloaded) }()
	if conn.asksIn(thread) {
		return nil
	}
	if held, err := c.held(ctx, conn, thread); held || err != nil {
		return err
	}
	_, err := conn.call(ctx, c.options.CallTimeout, "thread/unsubscribe", object{"threadId": thread})
	if unloaded = err == nil; unloaded {
		c.counters.unloads.Add(1)
	}
	return err
}

// loadedThreads are the conversations a process has loaded, those that servers before us had it load included.
func (c *Codex) loadedThreads(ctx context.Context, conn *conn) ([]string, error) {
	var threads []string
	for cursor := ""; ; {
		result, err := conn.call(ctx, c.options.CallTimeout, "thread/loaded/list", object{}.with("cursor", cursor))
		if err != nil {
			return nil, err
		}
		var listed struct {
			Data       []string `json:"data"`
			NextCursor string   `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &listed); err != nil {
			return nil, fmt.Errorf("read codex's answer to thread/loaded/list: %w", err)
		}
		threads = append(threads, listed.Data...)
		if cursor = listed.NextCursor; cursor == "" {
			return threads, nil
		}
	}
}

// held tells whether something of a conversation is in the memory of its process only: a command of an earlier turn that still runs, or all
// of it, because codex writes one that was never used late (0.101) or not at all (an ephemeral one).
func (c *Codex) held(ctx context.Context, conn *conn, thread string) (bool, error) {
	if !conn.turns.stored(thread) {
		files, err := threadFiles(c.homeDir(), thread)
		written := slices.ContainsFunc(files, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "rollout-") })
		if !written || err != nil {
			return true, err
		}
	}
	return c.background(ctx, conn, thread)
}

// background tells whether commands of earlier turns still run in a conversation. They would end with it.
func (c *Codex) background(ctx context.Context, conn *conn, thread string) (bool, error) {
	result, err := conn.call(ctx, c.options.CallTimeout, "thread/backgroundTerminals/list", object{"threadId": thread})
	if errors.Is(err, runtime.ErrThreadNotFound) {
		return false, nil
	}
	if unknownMethod(err) {
		return conn.turns.commandRuns(thread), err
	}
	var listed struct {
		Data []json.RawMessage `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(result, &listed)
	}
	return len(listed.Data) > 0, err
}

// retire takes a process out of service when nothing runs in it and nothing waits for it. From then on callers wait for the next one, so
// that no message reaches the one that ends.
func (c *Codex) retire(ctx context.Context, conn *conn) bool {
	c.mu.Lock()
	seen := c.uses
	free := c.freeLocked(conn, seen)
	c.mu.Unlock()
	if !free {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.freeLocked(conn, seen) {
		return false
	}
	c.counters.recycles.Add(1)
	c.conn = nil
	c.setLocked(func(s *runtime.Status) {
		s.State, s.Reason = runtime.StateStarting, "codex is restarted to give memory back"
	})
	return true
}

// freeLocked tells whether the process can be done without: nobody uses it or has since seen, nothing runs or waits in it, and what it said
// is stored. c.mu is held.
func (c *Codex) freeLocked(conn *conn, seen int64) bool {
	now := time.Now()
	quiet := now.Add(-c.options.RecycleIdle)
	return now.After(c.loginUntil) && c.conn == conn && c.status.State == runtime.StateReady && c.users == 0 && c.uses == seen && c.used.Before(quiet) &&
		conn.free(quiet) && c.out.empty()
}

// free tells whether nothing runs or waits on this connection, and since when.
func (c *conn) free(quiet time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) == 0 && len(c.former) == 0 && (c.inherited || c.turns.used()) && !c.turns.running() &&
		time.Unix(0, c.spoke.Load()).Before(quiet) && c.stored.Load() >= c.told.Load()
}

// asksIn tells whether the runtime waits for a person in a conversation.
func (c *conn) asksIn(thread string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.requests {
		if open.thread == thread {
			return true
		}
	}
	return false
}
