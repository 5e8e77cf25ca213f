// Package hosting is the shared part of the hosts of extensions. It owns the queue of an extension's events and the
// tools that handlers call. It also owns the lifecycle of the worker that runs the handlers (a JavaScript machine, a
// child process).
//
// It must never know what a worker is, or what events mean.
package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
)

// Module is one extension that workers of type W run; S is a host's state of each invocation. A host's own module
// embeds it, and thereby implements extensions.Module.
type Module[W comparable, S any] struct {
	host     Host[W, S]
	source   extensions.Source
	log      zerolog.Logger
	what     string // the name for a worker in messages to the operator
	maxQueue int

	// loaded gets the outcome of the first load; quit ends the supervisor, which closes ended.
	loaded   chan error
	quit     chan struct{}
	ended    chan struct{}
	quitOnce sync.Once
	// Work tracks the goroutines that Close waits for.
	Work sync.WaitGroup

	// Mu guards the following fields and the host's own state.
	Mu sync.Mutex
	// Registered are the handlers of the first load, nil before it.
	Registered []extensions.Subscription
	// Serving is the worker that accepts events, the zero value for none.
	Serving W
	// Invocations holds the invocations that have not ended, by id.
	Invocations map[int]*Invocation[W, S]
	// State is the extension's health.
	State extensions.Health

	served  bool // whether a worker ever accepted events
	waiting []*Invocation[W, S]
	lastID  int
	refusal error // the error of Handle, nil while events are accepted
}

// Invocation is one run of a handler. After it was submitted, its module's Mu guards its fields.
type Invocation[W comparable, S any] struct {
	ID           int
	Ctx          context.Context //nolint:containedctx // it is the handler's, which runs elsewhere
	Cancel       context.CancelFunc
	Subscription int
	Event        *extensions.Event
	Tools        extensions.Tools
	// On is the worker that runs it, the zero value while it is queued. Lines counts its log lines.
	On    W
	Ended bool
	Lines int
	Own   S

	out chan Outcome
}

// Outcome is the result of an invocation.
type Outcome struct {
	Value json.RawMessage
	Err   error
}

// Host is the part of the embedding host that a module uses.
type Host[W comparable, S any] interface {
	// Serve runs one worker until the worker fails or Quit is closed, and returns the reason. Workers start and end
	// only there.
	Serve() error
	// Exhausted returns the reason why no further worker may start, nil if one may.
	Exhausted() error
	// The module calls Submitted when an invocation waits, Expired when the caller of a running one has stopped
	// waiting, and Finished when one ended. Mu is held.
	Submitted()
	Expired(inv *Invocation[W, S])
	Finished(inv *Invocation[W, S])
}

// ErrUnloaded ends a worker when its module is closed.
var ErrUnloaded = errors.New("the extension was unloaded")

// Init prepares a module; what is the name for a worker ("process").
func (m *Module[W, S]) Init(host Host[W, S], source extensions.Source, what string, maxQueue int, log zerolog.Logger) {
	m.host, m.source, m.what, m.maxQueue, m.log = host, source, what, maxQueue, log
	m.loaded, m.quit, m.ended = make(chan error, 1), make(chan struct{}), make(chan struct{})
	m.Invocations, m.State = map[int]*Invocation[W, S]{}, extensions.Health{State: extensions.HealthOK}
}

// NewInvocation makes an invocation that ends with ctx at the latest.
func NewInvocation[W comparable, S any](ctx context.Context) *Invocation[W, S] {
	inv := &Invocation[W, S]{out: make(chan Outcome, 1)}
	inv.Ctx, inv.Cancel = context.WithCancel(ctx)
	return inv
}

// Quit is closed when the module closes.
func (m *Module[W, S]) Quit() <-chan struct{} { return m.quit }

// Subscriptions implements extensions.Module.
func (m *Module[W, S]) Subscriptions() []extensions.Subscription { return m.Registered }

// Health implements extensions.Module.
func (m *Module[W, S]) Health() extensions.Health {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.State
}

// Register stores the handlers of the first load and compares those of later ones with them. Mu is held.
func (m *Module[W, S]) Register(list []extensions.Subscription) error {
	if m.Registered == nil {
		m.Registered = list
	} else if !slices.Equal(m.Registered, list) {
		return errors.New("the extension registered other handlers than the first time; reload it")
	}
	return nil
}

// Admit lets a worker accept events. Mu is held.
func (m *Module[W, S]) Admit(worker W) {
	m.Serving, m.served = worker, true
	m.State.State = extensions.HealthOK
	select {
	case m.loaded <- nil:
	default: // Load already returned
	}
}

// Handle implements extensions.Module.
func (m *Module[W, S]) Handle(ctx context.Context, number int, event *extensions.Event, tools extensions.Tools) (
	json.RawMessage, error) {
	if number < 0 || number >= len(m.Registered) {
		return nil, fmt.Errorf("extension %s has no handler %d", m.source.Name, number)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	event.JSON() // encode here, in the caller's time
	inv := NewInvocation[W, S](ctx)
	defer inv.Cancel()
	inv.Subscription, inv.Event, inv.Tools = number, event, tools
	if err := m.submit(inv); err != nil {
		return nil, err
	}
	select {
	case o := <-inv.out:
		if deadline, ok := ctx.Deadline(); o.Err != nil && ok && !time.Now().Before(deadline) {
			// The worker noticed the deadline before the context ended.
			return nil, context.DeadlineExceeded
		}
		return o.Value, o.Err
	case <-ctx.Done():
		m.expire(inv)
		return nil, ctx.Err()
	}
}

func (m *Module[W, S]) submit(inv *Invocation[W, S]) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if m.refusal != nil {
		return m.refusal
	}
	if len(m.waiting) >= m.maxQueue {
		return fmt.Errorf("%d events are already queued for the extension", len(m.waiting))
	}
	m.lastID++
	inv.ID = m.lastID
	m.Invocations[inv.ID] = inv
	m.waiting = append(m.waiting, inv)
	m.host.Submitted()
	return nil
}

// expire ends an invocation whose caller no longer waits. If a worker runs the invocation, expire notifies it later.
func (m *Module[W, S]) expire(inv *Invocation[W, S]) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if inv.Ended {
		return
	}
	m.Finish(inv, Outcome{})
	var none W
	if inv.On != none && inv.On == m.Serving {
		m.host.Expired(inv)
	}
}

// Next returns the oldest queued invocation for a worker; nil for none. Mu is held.
func (m *Module[W, S]) Next(worker W) *Invocation[W, S] {
	for len(m.waiting) > 0 {
		inv := m.waiting[0]
		m.waiting[0] = nil
		m.waiting = m.waiting[1:]
		if !inv.Ended && inv.Ctx.Err() == nil {
			inv.On = worker
			return inv
		}
	}
	return nil
}

// Finish ends an invocation with an outcome. Mu is held.
func (m *Module[W, S]) Finish(inv *Invocation[W, S], o Outcome) {
	if inv.Ended {
		return
	}
	inv.Ended = true
	inv.Cancel()
	m.host.Finished(inv)
	delete(m.Invocations, inv.ID)
	inv.out <- o
}

// Retire makes the module send a worker no further events. Mu is held.
func (m *Module[W, S]) Retire(worker W) {
	if m.Serving == worker {
		var none W
		m.Serving = none
	}
}

// Dismiss ends a worker's running invocations; the next worker gets the queued ones. Mu is held.
func (m *Module[W, S]) Dismiss(worker W, why error) {
	m.Retire(worker)
	for _, inv := range m.Invocations {
		if inv.On == worker {
			m.Finish(inv, Outcome{Err: fmt.Errorf("the extension's %s was replaced: %w", m.what, why)})
		}
	}
}

// refuse makes Handle fail immediately; with a nil error Handle accepts events again. It also ends all queued
// invocations.
func (m *Module[W, S]) refuse(err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.refusal = err
	if err == nil {
		return
	}
	for _, inv := range m.waiting {
		m.Finish(inv, Outcome{Err: err})
	}
	m.waiting = nil
}

// Close ends the worker, and waits for it and for Work, at most until ctx ends. It implements extensions.Module.
func (m *Module[W, S]) Close(ctx context.Context) error {
	m.quitOnce.Do(func() { close(m.quit) })
	idle := make(chan struct{})
	go func() {
		<-m.ended
		m.Work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the %s of extension %s, or a tool call of it, does not end: %w", m.what, m.source.Name, ctx.Err())
	}
}
