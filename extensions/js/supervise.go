package js

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/extensions"
	"harness/extensions/restart"
)

// errUnloaded ends an instance because its module is closed.
var errUnloaded = errors.New("the extension was unloaded")

// errStuck ends an instance whose machine is in a native loop.
var errStuck = errors.New("stuck in a native loop of the JavaScript engine, which can not be interrupted")

// supervise keeps one machine serving until the module is closed. It is the only place where instances begin and end.
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
		m.log.Warn().Err(reason).Msg("an extension's JavaScript machine was replaced")
		m.setHealth(extensions.HealthRestarting, reason)
		if err := m.exhausted(); err != nil {
			m.log.Error().Err(err).Msg("an extension was given up")
			m.setHealth(extensions.HealthFailed, err)
			m.refuse(err)
			<-m.quit
			return
		}
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

// pause waits before another machine is made. False means that the module is being closed.
func (m *module) pause(restarts int, wait time.Duration) bool {
	if wait == 0 {
		return true
	}
	m.refuse(fmt.Errorf("the extension broke its JavaScript machine %d times in a minute; it starts again in %s", restarts, wait))
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		m.refuse(nil)
		return true
	case <-m.quit:
		return false
	}
}

// serveOnce runs one machine until it ends, gets stuck or the module is closed, and tells why.
func (m *module) serveOnce() error {
	i := newInstance(m)
	loadCtx, stopLoad := context.WithTimeout(context.Background(), m.host.limits.LoadTimeout)
	defer stopLoad()
	i.loading = &invocation{ctx: loadCtx, cancel: stopLoad, on: i, out: make(chan outcome, 1)}
	m.freeing.Add(1)
	go i.run()
	reason := m.await(loadCtx, i)
	if reason == nil {
		select {
		case <-i.done:
			reason = i.reason
		case <-i.stuck:
			reason = errStuck
		case <-m.quit:
			reason = errUnloaded
		}
	}
	m.leave(i, reason)
	return reason
}

// await waits until the machine has loaded the extension and lets it take events.
func (m *module) await(loadCtx context.Context, i *instance) error {
	select {
	case err := <-i.ready:
		if err != nil {
			return err
		}
		m.admit(i)
		return nil
	case <-loadCtx.Done():
		return errors.New("loading did not end in time")
	case <-i.stuck:
		return errStuck
	case <-m.quit:
		return errUnloaded
	}
}

// admit lets a loaded machine take events.
func (m *module) admit(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serving, m.served = i, true
	m.health.State = extensions.HealthOK
	if m.stuck > 0 {
		m.health.State = extensions.HealthQuarantined
	}
	signal(i.wake)
	select {
	case m.loaded <- nil:
	default: // Load was told long ago
	}
}

// leave ends an instance: it is told to stop and interrupted until it does. One that is stuck is abandoned and counted until it ends.
func (m *module) leave(i *instance, reason error) {
	m.dismiss(i, fmt.Sprintf("the extension's JavaScript machine was replaced: %v", reason))
	close(i.stop)
	patience := m.host.limits.Grace
	if errors.Is(reason, errStuck) {
		patience = 0
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(interval)
	defer again.Stop()
	for {
		if e := i.running.Load(); e != nil {
			e.interrupt()
		}
		select {
		case <-i.done:
			return
		case <-deadline.C:
			m.abandon(i)
			return
		case <-again.C:
		}
	}
}

func asLoadError(source extensions.Source, err error) error {
	var load *extensions.LoadError
	if errors.As(err, &load) {
		return load
	}
	return loadError(source, extensions.ImportFailed, "loading was cut: "+err.Error())
}

// abandon leaves a machine to itself. It is freed when its loop ends, whenever that is.
func (m *module) abandon(i *instance) {
	m.mu.Lock()
	m.stuck++
	m.mu.Unlock()
	m.host.stuck.Add(1)
	i.disown()
	go func() {
		<-i.done
		m.host.stuck.Add(-1)
		m.mu.Lock()
		m.stuck--
		if m.stuck == 0 && m.health.State == extensions.HealthQuarantined {
			m.health.State = extensions.HealthOK
		}
		m.mu.Unlock()
	}()
}

// exhausted says why no further machine is made.
func (m *module) exhausted() error {
	m.mu.Lock()
	own := m.stuck
	m.mu.Unlock()
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
