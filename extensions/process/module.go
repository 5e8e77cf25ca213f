package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
)

// module is one extension that runs as a child process: the queue of its events and the child that works on it. It implements
// extensions.Module.
type module struct {
	host    *Host
	source  extensions.Source
	command command
	log     zerolog.Logger

	// loaded gets the outcome of the first load; quit ends the supervisor, which closes ended.
	loaded   chan error
	quit     chan struct{}
	ended    chan struct{}
	quitOnce sync.Once
	workers  sync.WaitGroup // tool calls under way

	mu            sync.Mutex
	subscriptions []extensions.Subscription
	missing       []extensions.Missing // written with subscriptions
	serving       *child
	served        bool // whether a child ever took events
	waiting       []*invocation
	invocations   map[int]*invocation
	lastID        int
	health        extensions.Health
	// refusal is why Handle answers at once, nil while events are taken.
	refusal error
}

// invocation is one run of a handler. Its fields are guarded by the module's mutex once it was submitted.
type invocation struct {
	id           int
	ctx          context.Context
	cancel       context.CancelFunc
	subscription int
	event        *extensions.Event
	tools        extensions.Tools
	out          chan outcome

	// on is the child that runs it, nil while it waits.
	on    *child
	ended bool
	lines int
}

type outcome struct {
	value json.RawMessage
	err   error
}

func newModule(h *Host, source extensions.Source, c command) *module {
	return &module{
		host: h, source: source, command: c, log: h.log.With().Str("extension", source.Name).Logger(),
		loaded: make(chan error, 1), quit: make(chan struct{}), ended: make(chan struct{}),
		invocations: map[int]*invocation{}, health: extensions.Health{State: extensions.HealthOK},
	}
}

// Subscriptions implements extensions.Module.
func (m *module) Subscriptions() []extensions.Subscription { return m.subscriptions }

// Missing implements extensions.Inspected.
func (m *module) Missing() []extensions.Missing { return m.missing }

// Health implements extensions.Module.
func (m *module) Health() extensions.Health {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health
}

// Handle implements extensions.Module.
func (m *module) Handle(ctx context.Context, number int, event *extensions.Event, tools extensions.Tools) (json.RawMessage, error) {
	if number < 0 || number >= len(m.subscriptions) {
		return nil, fmt.Errorf("extension %s has no handler %d", m.source.Name, number)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	inv := &invocation{subscription: number, event: event, tools: tools, out: make(chan outcome, 1)}
	inv.ctx, inv.cancel = context.WithCancel(ctx)
	defer inv.cancel()
	if err := m.submit(inv); err != nil {
		return nil, err
	}
	select {
	case o := <-inv.out:
		return o.value, o.err
	case <-ctx.Done():
		m.expire(inv)
		return nil, ctx.Err()
	}
}

func (m *module) submit(inv *invocation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusal != nil {
		return m.refusal
	}
	if len(m.waiting) >= m.host.limits.MaxQueue {
		return fmt.Errorf("%d events wait for the extension already", len(m.waiting))
	}
	m.lastID++
	inv.id = m.lastID
	m.invocations[inv.id] = inv
	m.waiting = append(m.waiting, inv)
	m.dispatch()
	return nil
}

// dispatch hands waiting invocations to the child as long as it takes some. A child that has not confirmed the end of an invocation may
// hang: it gets nothing new. The caller holds m.mu.
func (m *module) dispatch() {
	c := m.serving
	for c != nil && len(m.waiting) > 0 && c.running < c.parallel && len(c.suspects) == 0 {
		inv := m.waiting[0]
		m.waiting[0] = nil
		m.waiting = m.waiting[1:]
		if inv.ended || inv.ctx.Err() != nil {
			continue
		}
		inv.on = c
		c.running++
		subscription := inv.subscription
		c.send(outgoing{Type: "invoke", ID: inv.id, Subscription: &subscription, Event: inv.event.JSON(), Settings: inv.tools.HasSettings()})
	}
}

// finish ends an invocation with an outcome. The caller holds m.mu.
func (m *module) finish(inv *invocation, o outcome) {
	if inv.ended {
		return
	}
	inv.ended = true
	inv.cancel()
	delete(m.invocations, inv.id)
	inv.out <- o
}

// expire ends an invocation whose caller does not wait any more, and asks the child to confirm. One that does not is hung.
func (m *module) expire(inv *invocation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if inv.ended {
		return
	}
	m.finish(inv, outcome{})
	c := inv.on
	if c == nil || c != m.serving {
		return
	}
	grace := m.host.limits.Grace
	timer := time.AfterFunc(grace, func() {
		c.fail(fmt.Errorf("the extension's process hangs: a handler timed out and %s later it did not answer yet", grace))
	})
	c.suspects[inv.id] = func() { timer.Stop() }
	c.send(outgoing{Type: "end", ID: inv.id})
}

// retire gives a child nothing more to do.
func (m *module) retire(c *child) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.serving == c {
		m.serving = nil
	}
}

// dismiss ends everything a child was running; what only waited is for the next one.
func (m *module) dismiss(c *child, why error) {
	m.retire(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, inv := range m.invocations {
		if inv.on == c {
			m.finish(inv, outcome{err: fmt.Errorf("the extension's process was replaced: %w", why)})
		}
	}
	for _, stop := range c.suspects {
		stop()
	}
}

// refuse makes Handle answer at once, or take events again with a nil error. Everything that waits is answered, too.
func (m *module) refuse(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = err
	if err == nil {
		return
	}
	for _, inv := range m.waiting {
		m.finish(inv, outcome{err: err})
	}
	m.waiting = nil
}

// Close implements extensions.Module.
func (m *module) Close(ctx context.Context) error {
	m.quitOnce.Do(func() { close(m.quit) })
	idle := make(chan struct{})
	go func() {
		<-m.ended
		m.workers.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("extension %s does not stop: %w", m.source.Name, ctx.Err())
	}
}

// errUnloaded ends a child because its module is closed.
var errUnloaded = errors.New("the extension was unloaded")
