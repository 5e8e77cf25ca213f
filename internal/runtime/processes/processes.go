// Package processes keeps the processes of a runtime with one process for each conversation. It starts a process when
// a caller uses the conversation, shares it among all users, and closes it after an idle time. It bounds their
// number; uses above the limit wait in order of arrival.
//
// It owns which conversation has a process, and for how long. It must never know what a process is: the adapter
// starts and ends them.
package processes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"harness/internal/runtime"
)

// Options configure a Set. Start and End are required.
type Options[P any] struct {
	// Runtime is the runtime's name in errors.
	Runtime string
	// Max bounds the number of processes; 0 is no limit. Adopted ones do not wait for it.
	Max int
	// Idle is how long a process may be unused before the Set ends it; 0 is forever.
	Idle time.Duration
	// Start starts the process of a conversation, possibly not its first one; it has its own timeout. It must call
	// gone when the process exits by itself. ctx ends with the Set.
	Start func(ctx context.Context, threadID string, gone func()) (P, error)
	// End ends a process and returns when it is gone. It has its own timeout.
	End func(threadID string, process P)
	// Waits, when set, runs when a use has to wait for a slot. It gets the number of uses before it. It must not call
	// the Set.
	Waits func(threadID string, before int)
}

// State is the state of a process.
type State string

// The states of a process.
const (
	Starting State = "starting"
	Running  State = "running"
	Ending   State = "ending"
)

// Info is one process of a Set.
type Info[P any] struct {
	ThreadID string
	State    State
	// Process is the zero value while it starts.
	Process P
	// Uses is its current number of uses.
	Uses      int
	StartedAt time.Time
}

// Set holds the processes of a runtime. Make it with New. Any goroutine may call any method.
type Set[P any] struct {
	options Options[P]
	ctx     context.Context // of starts
	cancel  context.CancelFunc
	working sync.WaitGroup // starts and ends in progress

	mu      sync.Mutex
	stopped chan struct{} // nil until Stop; closed when all have ended
	entries map[string]*entry[P]
	waiting []*waiter[P] // for a slot, in order
}

// entry is the process of one conversation. Set.mu guards it, except that process and err do not change after ready
// is closed.
type entry[P any] struct {
	threadID  string
	state     State
	startedAt time.Time
	uses      int
	unused    time.Time   // the time since which it is unused
	timer     *time.Timer // ends it when it stays unused
	ready     chan struct{}
	process   P
	err       error
	ended     chan struct{}
	over      bool // it exited by itself, and a call of gone will follow
}

// waiter is a use without an entry.
type waiter[P any] struct {
	threadID string
	granted  chan *entry[P]
}

// New makes a Set without processes.
func New[P any](options Options[P]) *Set[P] {
	ctx, cancel := context.WithCancel(context.Background())
	return &Set[P]{options: options, ctx: ctx, cancel: cancel, entries: map[string]*entry[P]{}}
}

// Use returns the process of a conversation, after starting it if necessary, and keeps it until the caller calls
// done. A running turn is a use, too. At the limit Use ends the longest unused process; if all are in use, it waits.
// It returns runtime.ErrUnavailable with the cause and the remedy when ctx ends during the wait, or the Set is
// stopped.
func (s *Set[P]) Use(ctx context.Context, threadID string) (process P, done func(), err error) {
	one := &waiter[P]{threadID: threadID, granted: make(chan *entry[P], 1)}
	s.mu.Lock()
	if s.stopped != nil {
		s.mu.Unlock()
		return process, nil, s.stoppedError()
	}
	s.waiting = append(s.waiting, one)
	s.grant()
	if before := slices.Index(s.waiting, one); before >= 0 && s.options.Waits != nil {
		s.options.Waits(threadID, before)
	}
	s.makeRoom()
	s.mu.Unlock()
	e, err := s.awaitSlot(ctx, one)
	if err != nil {
		return process, nil, err
	}
	select {
	case <-e.ready:
	case <-ctx.Done():
		s.release(e)
		return process, nil, fmt.Errorf("%w: the %s process of session %s is still starting: %w", runtime.ErrUnavailable,
			s.options.Runtime, threadID, ctx.Err())
	}
	if e.err != nil {
		return process, nil, e.err
	}
	return e.process, sync.OnceFunc(func() { s.release(e) }), nil
}

// awaitSlot waits for the entry of a use.
func (s *Set[P]) awaitSlot(ctx context.Context, one *waiter[P]) (*entry[P], error) {
	select {
	case e := <-one.granted:
		if e == nil {
			return nil, s.stoppedError()
		}
		return e, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	before := slices.Index(s.waiting, one)
	if before >= 0 {
		s.waiting = slices.Delete(s.waiting, before, before+1)
	}
	s.mu.Unlock()
	if before < 0 { // it was granted just now
		if e := <-one.granted; e != nil {
			s.release(e)
		}
	}
	return nil, fmt.Errorf(
		"%w: all %d processes of %s are in use, and %d others waited before session %s; try again, or raise "+
			"HARNESS_RUNTIME_LIMITS: %w", runtime.ErrUnavailable, s.options.Max, s.options.Runtime, max(before, 0),
		one.threadID, ctx.Err())
}

func (s *Set[P]) stoppedError() error {
	return fmt.Errorf("%w: %s is being stopped; try again when the server is back", runtime.ErrUnavailable,
		s.options.Runtime)
}

// Keep is Use of an existing or starting process, without a wait, for work that the process started by itself. It
// returns false when the conversation has no process that stays.
func (s *Set[P]) Keep(threadID string) (done func(), kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[threadID]
	if e == nil || e.state == Ending {
		return nil, false
	}
	s.keep(e)
	return sync.OnceFunc(func() { s.release(e) }), true
}

// Adopt adds a running process, regardless of the limit, and keeps it as Use does; gone is as in Options.Start. It
// returns false when the conversation has one, or the Set is stopped.
func (s *Set[P]) Adopt(threadID string, process P, startedAt time.Time) (done, gone func(), adopted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil || s.entries[threadID] != nil {
		return nil, nil, false
	}
	e := s.enter(threadID)
	e.state, e.process, e.startedAt = Running, process, startedAt
	close(e.ready)
	e.uses++
	return sync.OnceFunc(func() { s.release(e) }), func() { s.gone(e) }, true
}

// Leaving records that the process of a conversation exited by itself, before that is published. Callers no longer
// get it, and new ones wait for the call of its gone.
func (s *Set[P]) Leaving(threadID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[threadID]; e != nil && e.state == Running {
		e.state, e.over = Ending, true
		if e.timer != nil {
			e.timer.Stop()
		}
	}
}

// Close ends the process of a conversation and waits for its exit; without one it does nothing. It returns
// runtime.ErrTurnActive while the process is in use.
func (s *Set[P]) Close(ctx context.Context, threadID string) error {
	s.mu.Lock()
	e := s.entries[threadID]
	if e == nil {
		s.mu.Unlock()
		return nil
	}
	if e.state != Ending {
		if e.uses > 0 || e.state == Starting {
			s.mu.Unlock()
			return fmt.Errorf("%w: the %s process of session %s is in use", runtime.ErrTurnActive, s.options.Runtime, threadID)
		}
		s.end(e)
	}
	s.mu.Unlock()
	select {
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the %s process of session %s does not end", runtime.ErrTimeout, s.options.Runtime, threadID)
	}
}

// Stop ends all processes and waits for their exit within ctx. Waiting callers get runtime.ErrUnavailable. A second
// call is allowed.
func (s *Set[P]) Stop(ctx context.Context) error {
	s.mu.Lock()
	if s.stopped == nil {
		s.stopped = make(chan struct{})
		s.cancel()
		for _, one := range s.waiting {
			one.granted <- nil
		}
		s.waiting = nil
		for _, e := range s.entries {
			if e.state == Running {
				s.end(e)
			}
		}
		go func() {
			defer close(s.stopped)
			s.working.Wait()
		}()
	}
	s.mu.Unlock()
	select {
	case <-s.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop the processes of %s: %w", s.options.Runtime, ctx.Err())
	}
}

// List returns the current processes in start order, and the number of uses that wait for a slot.
func (s *Set[P]) List() (processes []Info[P], waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		processes = append(processes, Info[P]{e.threadID, e.state, e.process, e.uses, e.startedAt})
	}
	slices.SortFunc(processes, func(a, b Info[P]) int { return a.StartedAt.Compare(b.StartedAt) })
	return processes, len(s.waiting)
}

// Report adds a Set's processes with their status, and the number of waiting uses, to the status of its runtime. It
// omits processes that are still starting.
func Report[P interface {
	comparable
	Status() runtime.Status
}](s *Set[P], status *runtime.Status) {
	var none P
	list, waiting := s.List()
	status.Queued = waiting
	for _, one := range list {
		if one.Process == none {
			continue
		}
		own := one.Process.Status()
		status.Processes = append(status.Processes, runtime.ProcessStatus{PID: own.PID, Generation: own.Generation,
			Serves: one.ThreadID, State: own.State, Shim: own.Shim, StartedAt: one.StartedAt})
	}
}
