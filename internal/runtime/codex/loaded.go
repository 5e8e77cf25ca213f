package codex

import (
	"context"
	"maps"
	"time"

	"harness/internal/runtime"
)

// touch records output in a thread.
func (t *tracker) touch(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.threads[id]; s != nil {
		s.last = time.Now()
	}
}

// command records the start or the end of a command in a thread.
func (t *tracker) command(id string, change runtime.ItemChanged, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threadLocked(id)
	if change.Done {
		delete(s.commands, change.Item.ID)
		return
	}
	if s.commands == nil {
		s.commands = map[string]command{}
	}
	s.commands[change.Item.ID] = command{turn: change.TurnID, text: change.Item.Content, began: at.UnixMilli()}
}

// command is a started command.
type command struct {
	turn, text string
	began      int64 // ms
}

// commandsOf returns the commands of a thread without an end, by item, and its running turn.
func (t *tracker) commandsOf(id string) (commands map[string]command, active string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	if s == nil {
		return nil, ""
	}
	return maps.Clone(s.commands), s.active
}

func (t *tracker) commandRuns(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && len(s.commands) > 0
}

// keep protects a thread from being unloaded.
func (t *tracker) keep(id string) { t.update(id, func(s *threadState) { s.kept = true }) }

// enter keeps a thread loaded until leave, after waiting for an unload in progress. "" is no thread.
func (t *tracker) enter(ctx context.Context, id string) error {
	for id != "" {
		t.mu.Lock()
		s := t.threadLocked(id)
		unloading := s.unloading
		if unloading == nil {
			s.using++
		}
		t.mu.Unlock()
		if unloading == nil {
			return nil
		}
		select {
		case <-unloading:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (t *tracker) release(id string) {
	if id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	s.using--
	s.last = time.Now()
}

func (s *threadState) idle(since time.Time) bool {
	return s.loaded && !s.kept && s.active == "" && s.using == 0 && s.unloading == nil && s.last.Before(since)
}

// busy reports whether a turn is running in a thread, or a caller is about to send a request for it.
func (t *tracker) busy(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && (s.active != "" || s.using > 0)
}

// idle returns the threads to unload: idle ones, without output or request since a time.
func (t *tracker) idle(since time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ids []string
	for id, s := range t.threads {
		if s.idle(since) {
			ids = append(ids, id)
		}
	}
	return ids
}

// beginUnload blocks all callers of a thread; false when it is not idle. endUnload releases them.
func (t *tracker) beginUnload(id string, since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threadLocked(id)
	if !s.idle(since) {
		return false
	}
	s.unloading = make(chan struct{})
	return true
}

func (t *tracker) endUnload(id string, unloaded bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threadLocked(id)
	close(s.unloading)
	s.unloading, s.last = nil, time.Now()
	if unloaded {
		s.loaded, s.parked = false, true
	}
}

// hides reports whether a codex notification is about a thread that this adapter unloaded: for clients nothing has
// changed.
func (t *tracker) hides(id, method string) bool {
	if method != "thread/closed" && method != "thread/status/changed" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && (s.parked || s.unloading != nil) // the notification may precede the processing of the answer
}

// present reports whether a thread is loaded for clients.
func (t *tracker) present(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && (s.loaded || s.parked)
}

func (t *tracker) stored(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.threads[id]
	return s != nil && s.stored
}

// used reports whether any thread was used, running whether one has a turn.
func (t *tracker) used() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.threads) > 0
}

func (t *tracker) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.threads {
		if s.active != "" {
			return true
		}
	}
	return false
}
