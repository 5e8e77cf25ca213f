package js

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/extensions"
	"harness/extensions/hosting"
)

// errStuck ends an instance whose machine is in a native loop.
var errStuck = errors.New("stuck in a native loop of the JavaScript engine, which can not be interrupted")

// Serve runs one machine until it ends, is stuck, or the module is closed, and returns the reason. It implements
// hosting.Host.
func (m *module) Serve() error {
	i := newInstance(m)
	loadCtx, stopLoad := context.WithTimeout(context.Background(), m.host.limits.LoadTimeout)
	defer stopLoad()
	i.loading = hosting.NewInvocation[*instance, held](loadCtx)
	i.loading.On = i
	m.Work.Add(1) // until the machine is freed or abandoned
	go i.run()
	reason := m.await(loadCtx, i)
	if reason == nil {
		select {
		case <-i.done:
			reason = i.reason
		case <-i.stuck:
			reason = errStuck
		case <-m.Quit():
			reason = hosting.ErrUnloaded
		}
	}
	m.leave(i, reason)
	return reason
}

// await waits until the machine has loaded the extension and admits it.
func (m *module) await(loadCtx context.Context, i *instance) error {
	select {
	case err := <-i.ready:
		if err != nil {
			return err
		}
		m.admit(i)
		return nil
	case <-loadCtx.Done():
		return errors.New("loading was cut: it did not end in time")
	case <-i.stuck:
		return fmt.Errorf("loading was cut: %w", errStuck)
	case <-m.Quit():
		return hosting.ErrUnloaded
	}
}

// admit lets a loaded machine accept events.
func (m *module) admit(i *instance) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Admit(i)
	if m.stuck > 0 {
		m.State.State = extensions.HealthQuarantined
	}
	i.wake.Set()
}

// leave ends an instance: it interrupts the instance until it stops. It abandons a stuck one and counts it until it
// ends.
func (m *module) leave(i *instance, reason error) {
	m.dismiss(i, reason)
	close(i.stop)
	patience := m.host.limits.Grace
	if errors.Is(reason, errStuck) {
		patience = 0
	}
	deadline := time.After(patience)
	again := time.Tick(interval)
	for {
		if e := i.running.Load(); e != nil {
			e.interrupt()
		}
		select {
		case <-i.done:
			return
		case <-deadline:
			m.abandon(i)
			return
		case <-again:
		}
	}
}

// abandon stops waiting for a machine. The machine is freed when its loop ends.
func (m *module) abandon(i *instance) {
	m.Mu.Lock()
	m.stuck++
	m.Mu.Unlock()
	m.host.stuck.Add(1)
	i.disown()
	go func() {
		<-i.done
		m.host.stuck.Add(-1)
		m.Mu.Lock()
		m.stuck--
		if m.stuck == 0 && m.State.State == extensions.HealthQuarantined {
			m.State.State = extensions.HealthOK
		}
		m.Mu.Unlock()
	}()
}

// Exhausted implements hosting.Host.
func (m *module) Exhausted() error {
	m.Mu.Lock()
	own := m.stuck
	m.Mu.Unlock()
	limits := m.host.limits
	const advice = `fix the handler and reload, or run the extension out of process: "runtime": {"host": "node"} in its manifest`
	if own >= limits.MaxStuck {
		return fmt.Errorf("%d JavaScript machines of the extension are stuck in native loops; %s", own, advice)
	}
	if all := m.host.Stuck(); all >= limits.MaxStuckTotal && own > 0 {
		return fmt.Errorf("%d JavaScript machines of the server are stuck in native loops; %s", all, advice)
	}
	return nil
}
