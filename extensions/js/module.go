package js

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

// module is one loaded extension: the queue of its events and the machine that works on it. It implements extensions.Module.
type module struct {
	host   *Host
	source extensions.Source
	code   string
	log    zerolog.Logger
	// missing is what the code uses and the host has not; network is nil when the manifest declares no host to fetch from.
	missing []extensions.Missing
	network *network

	// loaded gets the outcome of the first load; quit ends the supervisor, which closes ended.
	loaded   chan error
	quit     chan struct{}
	ended    chan struct{}
	quitOnce sync.Once
	// workers are tool calls under way, freeing machines that live or are being freed, without abandoned ones.
	workers sync.WaitGroup
	freeing sync.WaitGroup

	mu            sync.Mutex
	subscriptions []extensions.Subscription
	serving       *instance
	served        bool // whether a machine ever took events
	waiting       []*invocation
	invocations   map[int]*invocation
	lastID        int
	health        extensions.Health
	// refusal is why Handle answers at once, nil while events are taken.
	refusal error
	stuck   int
}

func newModule(h *Host, source extensions.Source, code string, missing []extensions.Missing) *module {
	return &module{
		host: h, source: source, code: code, missing: missing, log: h.log.With().Str("extension", source.Name).Logger(),
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

// registered takes the subscriptions of the first load and holds later ones against them.
func (m *module) registered(i *instance, list []extensions.Subscription) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.loading.ended = true
	if m.subscriptions == nil {
		m.subscriptions = list
		return nil
	}
	if !slices.Equal(m.subscriptions, list) {
		return errors.New("the extension registered other handlers than the first time; reload it")
	}
	return nil
}

// Handle implements extensions.Module.
func (m *module) Handle(ctx context.Context, number int, event *extensions.Event, tools extensions.Tools) (json.RawMessage, error) {
	if number < 0 || number >= len(m.subscriptions) {
		return nil, fmt.Errorf("extension %s has no handler %d", m.source.Name, number)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// Encoding happens here and not in the machine's turn: it is the caller's time.
	event.JSON()
	inv := &invocation{subscription: number, event: event, tools: tools, out: make(chan outcome, 1)}
	inv.ctx, inv.cancel = context.WithCancel(ctx)
	defer inv.cancel()
	if err := m.submit(inv); err != nil {
		return nil, err
	}
	select {
	case o := <-inv.out:
		if deadline, ok := ctx.Deadline(); o.err != nil && ok && !time.Now().Before(deadline) {
			// The machine noticed the deadline before the context did.
			return nil, context.DeadlineExceeded
		}
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
	if m.serving != nil {
		signal(m.serving.wake)
	}
	return nil
}

// expire ends an invocation whose caller does not wait any more. The machine, if one runs it, is told behind its back.
func (m *module) expire(inv *invocation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if inv.ended {
		return
	}
	m.finish(inv, outcome{})
	if i := inv.on; i != nil && i == m.serving {
		m.owe(i, turn{inv: inv, run: func(e *engine) error { return e.call(e.end, inv.id) }})
	}
}

// take is the next turn for an instance: what is owed to its machine first, then a new invocation.
func (m *module) take(i *instance) (turn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(i.internal) > 0 {
		next := i.internal[0]
		i.internal[0] = turn{}
		i.internal = i.internal[1:]
		return next, true
	}
	if m.serving != i || !i.loading.ended {
		return turn{}, false
	}
	for len(m.waiting) > 0 {
		inv := m.waiting[0]
		m.waiting[0] = nil
		m.waiting = m.waiting[1:]
		if inv.ended || inv.ctx.Err() != nil {
			continue
		}
		inv.on = i
		return inv.begin(), true
	}
	return turn{}, false
}

// dismiss ends everything a machine was running; what only waited is for the next one.
func (m *module) dismiss(i *instance, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.serving == i {
		m.serving = nil
	}
	for _, inv := range m.invocations {
		if inv.on == i {
			m.finish(inv, outcome{err: errors.New(why)})
		}
	}
	i.loading.ended = true
	i.loading.cancel()
	for _, timer := range i.loading.timers {
		timer.Stop()
	}
	i.internal = nil
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

func (m *module) setHealth(state extensions.HealthState, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.health.State = state
	if err != nil {
		m.health.LastError = err.Error()
	}
}

// Close implements extensions.Module.
func (m *module) Close(ctx context.Context) error {
	m.quitOnce.Do(func() { close(m.quit) })
	select {
	case <-m.ended:
	case <-ctx.Done():
		return fmt.Errorf("extension %s does not stop: %w", m.source.Name, ctx.Err())
	}
	idle := make(chan struct{})
	go func() {
		m.freeing.Wait()
		m.workers.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("extension %s has a tool call or a machine that does not end: %w", m.source.Name, ctx.Err())
	}
}

// interval is how often a machine that should stop is interrupted again; a request that comes between two calls is lost.
const interval = 5 * time.Millisecond
