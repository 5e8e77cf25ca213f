package stdio

import (
	"context"
	"fmt"
	"time"

	"harness/internal/runtime"
)

// Use waits for a starting process and returns its connection. Retire spares the process until the caller calls done.
// Use returns runtime.ErrUnavailable, with the reason, when there is no process.
func (s *Supervisor) Use(ctx context.Context) (c *Conn, done func(), err error) {
	limit := time.After(s.options.StartTimeout)
	for {
		s.mu.Lock()
		status, changed, c := s.status, s.changed, s.conn
		ready := status.State == runtime.StateReady && c != nil
		if ready {
			s.useLocked()
		}
		s.mu.Unlock()
		if ready {
			return c, s.unuse, nil
		}
		switch status.State {
		case runtime.StateReady, runtime.StateStarting, runtime.StateUnresponsive:
		default:
			return nil, nil, fmt.Errorf("%w: %s", s.absence(status), status.Reason)
		}
		select {
		case <-changed:
		case <-limit:
			return nil, nil, fmt.Errorf("%w: %s", runtime.ErrUnavailable, status.Reason)
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("%w: %s: %w", runtime.ErrUnavailable, status.Reason, ctx.Err())
		}
	}
}

// absence returns the error without a process: runtime.ErrProcessGone if one exited and another may start.
func (s *Supervisor) absence(status runtime.Status) error {
	ended := status.State == runtime.StateStopped && s.options.Once ||
		status.State == runtime.StateUnavailable && !status.Missing
	if ended && status.LastExit != nil {
		return runtime.ErrProcessGone
	}
	return runtime.ErrUnavailable
}

// UseGeneration is Use for one particular process and does not wait; false when another one is running.
func (s *Supervisor) UseGeneration(generation string) (c *Conn, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.generation != generation {
		return nil, nil, false
	}
	s.useLocked()
	return s.conn, s.unuse, true
}

// Current returns the connection to the running process, nil when there is none.
func (s *Supervisor) Current() *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// useLocked counts a user of the process. The caller holds s.mu.
func (s *Supervisor) useLocked() {
	s.users++
	s.uses++
}

func (s *Supervisor) unuse() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.used = time.Now()
}

// Uses counts the uses of the process.
func (s *Supervisor) Uses() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.uses
}

// Free reports whether a process can be retired. That means: no new use, no waiting call, no output since a time, and
// all output stored.
func (s *Supervisor) Free(c *Conn, uses int64, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freeLocked(c, uses, since)
}

func (s *Supervisor) freeLocked(c *Conn, uses int64, since time.Time) bool {
	return s.conn == c && s.status.State == runtime.StateReady && s.users == 0 && s.uses == uses && s.used.Before(since) &&
		c.Quiet(since) && s.out.empty()
}

// Retire takes a free process out of service. Callers then wait for the next one, so the old one gets no more
// messages. It does nothing if busy returns true. The attending function then ends the process with a *RetiredError.
func (s *Supervisor) Retire(c *Conn, uses int64, since time.Time, busy func() bool, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.freeLocked(c, uses, since) || busy() {
		return false
	}
	s.conn = nil
	s.setLocked(func(status *runtime.Status) { status.State, status.Reason = runtime.StateStarting, reason })
	return true
}
