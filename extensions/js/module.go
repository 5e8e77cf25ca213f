package js

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/hosting"
)

// module is one loaded extension. It implements extensions.Module and hosting.Host.
type module struct {
	hosting.Module[*instance, held]

	host   *Host
	source extensions.Source
	code   string
	log    zerolog.Logger
	// missing are the names that the code uses and the host lacks; network is nil if the manifest declares no host for
	// fetch.
	missing []extensions.Missing
	network *network
	// stuck is the number of machines that were abandoned and still run. Guarded by Mu.
	stuck int
}

type (
	invocation = hosting.Invocation[*instance, held]
	outcome    = hosting.Outcome
)

// held are the resources of an invocation in Go.
type held struct {
	timers map[string]*time.Timer
	// calls are the running fetches, by call number.
	calls map[string]context.CancelFunc
}

func (h held) stopTimers() {
	for _, timer := range h.timers {
		timer.Stop()
	}
}

func newModule(h *Host, source extensions.Source, code string, missing []extensions.Missing) *module {
	m := &module{host: h, source: source, code: code, missing: missing,
		log: h.log.With().Str("extension", source.Name).Logger()}
	m.Init(m, source, "JavaScript machine", h.limits.MaxQueue, m.log)
	return m
}

// Missing implements extensions.Inspected.
func (m *module) Missing() []extensions.Missing { return m.missing }

// registered stores the handlers that a machine has registered.
func (m *module) registered(i *instance, list []extensions.Subscription) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	i.loading.Ended = true
	return m.Register(list)
}

// Submitted implements hosting.Host.
func (m *module) Submitted() {
	if m.Serving != nil {
		m.Serving.wake.Set()
	}
}

// Expired implements hosting.Host.
func (m *module) Expired(inv *invocation) {
	m.owe(inv.On, turn{inv: inv, run: func(e *engine) error { return e.call(e.end, inv.ID) }})
}

// Finished implements hosting.Host.
func (*module) Finished(inv *invocation) {
	inv.Own.stopTimers()
	inv.Own.timers = nil
}

// nextTurn returns the next turn for an instance: first the pending turns of its machine, then a new invocation.
func (m *module) nextTurn(i *instance) (turn, bool) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if len(i.internal) > 0 {
		next := i.internal[0]
		i.internal[0] = turn{}
		i.internal = i.internal[1:]
		return next, true
	}
	if m.Serving == i && i.loading.Ended {
		if inv := m.Next(i); inv != nil {
			return begin(inv), true
		}
	}
	return turn{}, false
}

// dismiss ends a machine's running invocations; the next machine gets the queued ones.
func (m *module) dismiss(i *instance, why error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Dismiss(i, why)
	i.loading.Ended = true
	i.loading.Cancel()
	i.loading.Own.stopTimers()
	i.internal = nil
}

// interval is the time between two interrupts of a machine that should stop, because an interrupt between two calls is
// lost.
const interval = 5 * time.Millisecond
