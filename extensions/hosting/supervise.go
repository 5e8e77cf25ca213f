package hosting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/extensions"
)

// Load starts the first worker and waits until the extension has registered its handlers. On a failure it closes the
// module, within patience.
func (m *Module[W, S]) Load(ctx context.Context, patience time.Duration) (err error) {
	go m.supervise()
	select {
	case err = <-m.loaded:
	case <-ctx.Done():
		err = LoadError(m.source, extensions.ImportFailed, "loading did not end in time: "+ctx.Err().Error())
	}
	if err != nil {
		closing, done := context.WithTimeout(context.Background(), patience)
		defer done()
		_ = m.Close(closing) // return the load's error; the host counts a worker that does not end
	}
	return err
}

// supervise keeps one worker serving until the module is closed.
func (m *Module[W, S]) supervise() {
	defer close(m.ended)
	var history History
	for first := true; ; first = false {
		reason := m.host.Serve()
		if errors.Is(reason, ErrUnloaded) {
			m.refuse(reason)
			return
		}
		if first && !m.everServed() {
			// Load receives this error and closes the module.
			m.loaded <- asLoadError(m.source, reason)
			<-m.quit
			return
		}
		m.log.Warn().Err(reason).Msg("an extension's " + m.what + " is replaced")
		m.broke(extensions.HealthRestarting, reason)
		if err := m.host.Exhausted(); err != nil {
			m.log.Error().Err(err).Msg("extension disabled after repeated failures")
			m.broke(extensions.HealthFailed, err)
			m.refuse(err)
			<-m.quit
			return
		}
		if count, wait := history.Next(time.Now()); !m.pause(count, wait) {
			m.refuse(ErrUnloaded)
			return
		}
		m.Mu.Lock()
		m.State.Restarts++
		m.Mu.Unlock()
	}
}

func (m *Module[W, S]) everServed() bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	return m.served
}

func (m *Module[W, S]) broke(state extensions.HealthState, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.State.State, m.State.LastError = state, err.Error()
}

// pause waits before another worker starts. It returns false if the module is closed.
func (m *Module[W, S]) pause(restarts int, wait time.Duration) bool {
	if wait == 0 {
		return true
	}
	m.refuse(fmt.Errorf("the extension's %s broke %d times in a minute; it starts again in %s", m.what, restarts, wait))
	select {
	case <-time.After(wait):
		m.refuse(nil)
		return true
	case <-m.quit:
		return false
	}
}

// LoadError makes an error of Load.
func LoadError(source extensions.Source, code extensions.LoadCode, message string) error {
	return &extensions.LoadError{Extension: source.Name, Code: code, Message: message}
}

func asLoadError(source extensions.Source, err error) error {
	var load *extensions.LoadError
	if errors.As(err, &load) {
		return load
	}
	return LoadError(source, extensions.ImportFailed, err.Error())
}
