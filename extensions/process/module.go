package process

import (
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/hosting"
)

// module is one extension that runs as a child process. It implements extensions.Module and hosting.Host.
type module struct {
	hosting.Module[*child, struct{}]

	host    *Host
	source  extensions.Source
	command command
	log     zerolog.Logger
	missing []extensions.Missing // written with the handlers of the first load
}

type (
	invocation = hosting.Invocation[*child, struct{}]
	outcome    = hosting.Outcome
)

func newModule(h *Host, source extensions.Source, c command) *module {
	m := &module{host: h, source: source, command: c, log: h.log.With().Str("extension", source.Name).Logger()}
	m.Init(m, source, "process", h.limits.MaxQueue, m.log)
	return m
}

// Missing implements extensions.Inspected.
func (m *module) Missing() []extensions.Missing { return m.missing }

// Submitted implements hosting.Host.
func (m *module) Submitted() { m.dispatch() }

// Finished implements hosting.Host.
func (*module) Finished(*invocation) {}

// Exhausted implements hosting.Host: any process can be killed, so another one can always start.
func (*module) Exhausted() error { return nil }

// dispatch sends queued invocations to the child while it accepts more. A child that has not confirmed the end of an
// invocation may hang, so it gets nothing new. The caller holds m.Mu.
func (m *module) dispatch() {
	c := m.Serving
	for c != nil && c.running < c.parallel && len(c.suspects) == 0 {
		inv := m.Next(c)
		if inv == nil {
			return
		}
		c.running++
		c.send(outgoing{Type: "invoke", ID: inv.ID, Subscription: &inv.Subscription, Event: inv.Event.JSON(),
			Settings: inv.Tools.HasSettings()})
	}
}

// Expired asks the child to confirm that it abandoned an invocation. A child that does not answer hangs. It implements
// hosting.Host.
func (m *module) Expired(inv *invocation) {
	c, grace := inv.On, m.host.limits.Grace
	timer := time.AfterFunc(grace, func() {
		c.fail(fmt.Errorf("the extension's process hangs: a handler timed out and %s later it did not answer yet", grace))
	})
	c.suspects[inv.ID] = func() { timer.Stop() }
	c.send(outgoing{Type: "end", ID: inv.ID})
}

// retire makes the module send a child no further events.
func (m *module) retire(c *child) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Retire(c)
}

// dismiss ends a child's running invocations; the next child gets the queued ones.
func (m *module) dismiss(c *child, why error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Dismiss(c, why)
	for _, stop := range c.suspects {
		stop()
	}
}
