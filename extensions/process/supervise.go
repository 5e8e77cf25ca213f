package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/extensions/hosting"
)

// Serve runs one child until it fails or the module is closed, and returns the reason. It implements hosting.Host.
func (m *module) Serve() error {
	c, err := m.start(context.Background())
	if err != nil {
		return err
	}
	handshake := time.After(m.host.limits.LoadTimeout)
	for {
		select {
		case reason := <-c.failed:
			if !errors.Is(reason, errEnded) {
				m.dismiss(c, reason)
				c.stop(false)
				return reason
			}
			// A child that closed its output may still run; its exit status is known only after it ends.
			m.retire(c)
			c.stop(true)
			reason = c.explain()
			m.dismiss(c, reason)
			return reason
		case <-handshake:
			m.Mu.Lock()
			ready := c.ready
			m.Mu.Unlock()
			if ready {
				continue
			}
			reason := fmt.Errorf("the extension's process did not say ready within %s", m.host.limits.LoadTimeout)
			m.dismiss(c, reason)
			c.stop(false)
			return reason
		case <-m.Quit():
			m.dismiss(c, hosting.ErrUnloaded)
			c.stop(true)
			return hosting.ErrUnloaded
		}
	}
}
