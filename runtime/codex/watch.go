package codex

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"harness/runtime"
)

const (
	// probeMethod is the health probe. Every supported version answers it within milliseconds while turns run, tool calls are quiet and
	// approvals wait; it changes nothing and nobody is told of it.
	probeMethod = "thread/loaded/list"
	// watchSteps is how often a process is looked at within Options.HangAfter. As many silent looks in a row make a hang: a server that was
	// stopped itself, or had no processor for a while, looks once when it goes on and then hears what has come meanwhile.
	watchSteps = 4
)

// pulse is the reading side of a connection, seen from outside: how often something came, and whether more is waited for.
type pulse struct {
	source  io.Reader
	heard   atomic.Int64
	waiting atomic.Bool
}

// Read implements io.Reader.
func (p *pulse) Read(b []byte) (int, error) {
	p.waiting.Store(true)
	n, err := p.source.Read(b)
	p.waiting.Store(false)
	if n > 0 {
		p.heard.Add(1)
	}
	return n, err
}

// watch judges whether a process still answers. It is used from one goroutine.
type watch struct {
	conn  *conn
	every time.Duration
	heard int64
	asked bool
	// silent counts the looks since the probe was sent at which nothing had come.
	silent int
}

// look returns how long the probe has been unanswered. Whatever the process says counts as an answer, and while we do not read (the store
// takes nothing, so nothing is read) there is nothing to judge.
func (w *watch) look() time.Duration {
	heard, waiting := w.conn.pulse.heard.Load(), w.conn.pulse.waiting.Load()
	switch {
	case heard != w.heard || !waiting:
		w.heard, w.asked, w.silent = heard, false, 0
	case !w.asked:
		w.asked = true
		w.conn.probe()
	default:
		w.silent++
	}
	return time.Duration(w.silent) * w.every
}

// probe asks for a sign of life. It does not wait for it, nor for a process that takes no input, and it leaves the slots to others.
func (c *conn) probe() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return
	}
	c.nextID++
	id := c.nextID
	c.pending[strconv.FormatInt(id, 10)] = &pending{method: probeMethod, answer: make(chan answer, 1)}
	c.probing.Go(func() {
		_ = c.send(context.Background(), outgoing{ID: id, Method: probeMethod, Params: object{"limit": 1}})
	})
}

// hungError says that a process was ended because it did not answer.
type hungError struct{ after time.Duration }

// Error implements error.
func (e *hungError) Error() string {
	return fmt.Sprintf("codex did not answer for %s and is being restarted (HARNESS_RUNTIME_HANG_MS); its stderr is in the log", e.after)
}

// examine looks at the process once and shows what it sees. *hungError when it is to be given up.
func (c *Codex) examine(w *watch) error {
	silent := w.look()
	state := c.Status().State
	switch {
	case silent >= c.options.HangAfter:
		c.counters.hangs.Add(1)
		return &hungError{after: silent}
	case silent > 0 && state == runtime.StateReady:
		c.options.Logger.Warn().Str("generation", w.conn.generation).Dur("for", silent).Msg("codex does not answer")
		c.set(func(s *runtime.Status) {
			s.State = runtime.StateUnresponsive
			s.Reason = fmt.Sprintf("codex does not answer; it is restarted when it has not done so for %s (HARNESS_RUNTIME_HANG_MS)", c.options.HangAfter)
		})
	case silent == 0 && state == runtime.StateUnresponsive:
		c.options.Logger.Info().Str("generation", w.conn.generation).Msg("codex answers again")
		c.set(func(s *runtime.Status) { s.State, s.Reason = runtime.StateReady, "" })
	}
	return nil
}
