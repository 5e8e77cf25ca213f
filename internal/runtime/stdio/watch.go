package stdio

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"harness/internal/runtime"
)

const (
	// watchSteps is the number of checks within Options.HangAfter. That many checks in a row without output are a
	// hang. If the server itself was stopped, it makes one check after it continues, and then reads the waiting
	// output.
	watchSteps = 4
)

// pulse watches the reading side of a connection: the number of reads, and whether a read is blocked.
type pulse struct {
	source  io.Reader
	lines   atomic.Int64
	waiting atomic.Bool
}

// Read implements io.Reader.
func (p *pulse) Read(b []byte) (int, error) {
	p.waiting.Store(true)
	n, err := p.source.Read(b)
	p.waiting.Store(false)
	if n > 0 {
		p.lines.Add(1)
	}
	return n, err
}

// watch detects whether a process still answers. Only one goroutine may use it.
type watch struct {
	conn   *Conn
	prober Prober
	every  time.Duration
	lines  int64
	asked  bool
	// missed is the number of checks without output since the last probe.
	missed int
}

// Stalled reports whether the process's output is stalled, so that silence proves nothing. Either the shim cannot
// keep output (the disk or the spool is full), or the server does not read it, or has not stored it yet.
func (c *Conn) Stalled() bool {
	return !c.pulse.waiting.Load() || c.pipes.stalled != nil && c.pipes.stalled() || c.out.standing() > standstill
}

// check returns how long the probe has been unanswered. Any output of the process counts as an answer. While output
// is stalled the result is unknown; afterwards check sends another probe.
func (w *watch) check() time.Duration {
	lines, held := w.conn.pulse.lines.Load(), w.conn.Stalled()
	switch {
	case lines != w.lines || held:
		w.lines, w.asked, w.missed = lines, false, 0
	case !w.asked:
		w.asked = true
		w.conn.probe(w.prober.Probe())
	default:
		w.missed++
	}
	return time.Duration(w.missed) * w.every
}

// probe sends a probe. It waits neither for the answer nor for a process that accepts no input, and it uses no slot.
func (c *Conn) probe(method string, params any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return
	}
	c.nextID++
	id := c.nextID
	c.pending[strconv.FormatInt(id, 10)] = &pending{method: method, answer: make(chan answer, 1)}
	c.probing.Go(func() {
		if line, err := c.protocol.Frame(id, method, params); err == nil {
			_ = c.Send(context.Background(), line) // an unreachable process is unresponsive
		}
	})
}

// hungError means that the supervisor killed a hung process.
type hungError struct {
	name  string
	after time.Duration
}

// Error implements error.
func (e *hungError) Error() string {
	return fmt.Sprintf(
		"%s did not answer for %s and is being restarted (HARNESS_RUNTIME_HANG_MS); its stderr is in the log",
		e.name, e.after)
}

// examine checks the process once and publishes the result. It returns *hungError when the process hangs.
func (s *Supervisor) examine(w *watch) error {
	missed := w.check()
	state := s.Status().State
	switch {
	case missed >= s.options.HangAfter:
		s.launcher.Counters.Hangs.Add(1)
		return &hungError{name: s.name, after: missed}
	case missed > 0 && state == runtime.StateReady:
		s.log.Warn().Str("generation", w.conn.generation).Dur("for", missed).Msg(s.name + " does not answer")
		s.set(func(status *runtime.Status) {
			status.State = runtime.StateUnresponsive
			status.Reason = fmt.Sprintf(
				"%s does not answer; it is restarted when it has not done so for %s (HARNESS_RUNTIME_HANG_MS)", s.name,
				s.options.HangAfter)
		})
	case missed == 0 && state == runtime.StateUnresponsive:
		s.log.Info().Str("generation", w.conn.generation).Msg(s.name + " answers again")
		s.set(func(status *runtime.Status) { status.State, status.Reason = runtime.StateReady, "" })
	}
	return nil
}
