package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/extensions"
	"harness/extensions/restart"
)

// supervise keeps one child serving until the module is closed. It is the only place where children begin and end.
func (m *module) supervise() {
	defer close(m.ended)
	var history restart.History
	for first := true; ; first = false {
		reason := m.serveOnce()
		if errors.Is(reason, errUnloaded) {
			m.refuse(reason)
			return
		}
		if first && !m.everServed() {
			// Load takes this and closes the module.
			m.loaded <- asLoadError(m.source, reason)
			<-m.quit
			return
		}
		m.log.Warn().Err(reason).Msg("an extension's process is replaced")
		m.mu.Lock()
		m.health.State, m.health.LastError = extensions.HealthRestarting, reason.Error()
		m.mu.Unlock()
		if !m.pause(history.Next(time.Now())) {
			return
		}
		m.mu.Lock()
		m.health.Restarts++
		m.mu.Unlock()
	}
}

func (m *module) everServed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.served
}

// pause waits before another child is started. False means that the module is being closed.
func (m *module) pause(restarts int, wait time.Duration) bool {
	if wait == 0 {
		return true
	}
	m.refuse(fmt.Errorf("the extension's process broke %d times in a minute; it starts again in %s", restarts, wait))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		m.refuse(nil)
		return true
	case <-m.quit:
		m.refuse(errUnloaded)
		return false
	}
}

// serveOnce runs one child until it fails or the module is closed, and tells why.
func (m *module) serveOnce() error {
	c, err := m.start(context.Background())
	if err != nil {
		return err
	}
	handshake := time.NewTimer(m.host.limits.LoadTimeout)
	defer handshake.Stop()
	for {
		select {
		case reason := <-c.failed:
			if !errors.Is(reason, errEnded) {
				m.dismiss(c, reason)
				c.stop(false)
				return reason
			}
			// One that closed its output may still run; how it ended is known afterwards.
			m.retire(c)
			c.stop(true)
			reason = c.explain()
			m.dismiss(c, reason)
			return reason
		case <-handshake.C:
			m.mu.Lock()
			ready := c.ready
			m.mu.Unlock()
			if ready {
				continue
			}
			reason := fmt.Errorf("the extension's process did not say ready within %s", m.host.limits.LoadTimeout)
			m.dismiss(c, reason)
			c.stop(false)
			return reason
		case <-m.quit:
			m.dismiss(c, errUnloaded)
			c.stop(true)
			return errUnloaded
		}
	}
}

func asLoadError(source extensions.Source, err error) error {
	var load *extensions.LoadError
	if errors.As(err, &load) {
		return load
	}
	return loadError(source, extensions.ImportFailed, err.Error())
}
