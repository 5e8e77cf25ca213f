package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"harness/extensions"
	"harness/extensions/hosting"
	"harness/internal/lib/wake"
)

// instance is one machine and the goroutine that owns it. It ends when the machine must stop (an overrun, an engine
// failure, the module's end); another instance then replaces it.
type instance struct {
	m       *module
	engine  *engine
	started time.Time

	// wake is signalled when there is work; stop is closed when the instance should end.
	wake wake.Signal
	stop chan struct{}
	// ready gets the outcome of loading, once. done is closed when JavaScript has stopped and reason is set. After that
	// the instance frees the machine, which takes a while if it is full; that is part of the module's Work.
	ready    chan error
	done     chan struct{}
	disowned sync.Once
	// stuck is closed when a turn exceeded its limit and the grace period.
	stuck     chan struct{}
	stuckOnce sync.Once
	watch     *time.Timer
	// busyUntil is the limit of the running turn, nil between turns.
	busyUntil atomic.Pointer[time.Time]
	// running is the machine while other goroutines may interrupt it.
	running atomic.Pointer[engine]

	// loading represents the load as an invocation. Guarded by m.Mu.
	loading *invocation
	// internal are pending turns of this machine: answers of tools, timers, ends. Guarded by m.Mu.
	internal []turn
	// outOfMemory is set by the prelude when an error reports it; only the instance's goroutine uses it.
	outOfMemory bool
	// reason is the reason why the instance ended. It is written before done is closed.
	reason error
}

// turn is one entry into JavaScript for an invocation.
type turn struct {
	inv *invocation
	run func(*engine) error
}

// errOverran ends an instance when its JavaScript ran past its limit.
var errOverran = errors.New("JavaScript ran past its time limit")

// errMemory ends an instance when its heap was full: the memory may still be in use.
var errMemory = errors.New("JavaScript ran out of memory")

func newInstance(m *module) *instance {
	i := &instance{
		m: m, started: time.Now(), wake: wake.New(), stop: make(chan struct{}),
		ready: make(chan error, 1), done: make(chan struct{}), stuck: make(chan struct{}),
	}
	i.watch = time.AfterFunc(time.Hour, i.checkOverrun)
	i.watch.Stop()
	return i
}

// checkOverrun runs after the time when a turn should have ended.
func (i *instance) checkOverrun() {
	if until := i.busyUntil.Load(); until != nil && time.Since(*until) >= i.m.host.limits.Grace {
		i.stuckOnce.Do(func() { close(i.stuck) })
	}
}

func (i *instance) run() {
	defer i.disown()
	i.reason = i.attend()
	i.report(i.reason)
	i.watch.Stop()
	i.running.Store(nil)
	close(i.done)
	if i.engine != nil {
		i.free()
	}
}

// attend makes the machine and serves. A fault of the engine itself (transpiled C) must not crash the server; its
// memory may leak.
func (i *instance) attend() (reason error) {
	defer func() {
		if p := recover(); p != nil {
			reason = fmt.Errorf("the JavaScript engine failed: %v", p)
		}
	}()
	settings, err := i.m.settings()
	if err != nil {
		return err
	}
	if i.engine, reason = i.m.host.newEngine(settings, i.hostCall); reason != nil {
		return reason
	}
	i.running.Store(i.engine)
	return i.serve()
}

// disown lets the module stop waiting for this instance, once.
func (i *instance) disown() { i.disowned.Do(i.m.Work.Done) }

func (i *instance) free() {
	defer func() {
		if p := recover(); p != nil {
			i.m.log.Error().Interface("panic", p).Msg("an extension's JavaScript machine can not be freed")
		}
	}()
	i.engine.close()
}

// serve loads the extension and runs turns until the instance has to end.
func (i *instance) serve() error {
	var thrown error
	err := i.enter(turn{inv: i.loading, run: func(e *engine) error {
		thrown = e.load(i.m.code)
		return nil
	}})
	if err != nil {
		return hosting.LoadError(i.m.source, extensions.ImportFailed, "loading was cut: "+err.Error())
	}
	if deadline, _ := i.loading.Ctx.Deadline(); thrown != nil && !time.Now().Before(deadline) {
		return hosting.LoadError(i.m.source, extensions.ImportFailed, "loading was cut: "+errOverran.Error())
	}
	if thrown != nil {
		return hosting.LoadError(i.m.source, extensions.ImportFailed, thrown.Error())
	}
	for {
		next, ok := i.m.nextTurn(i)
		if !ok {
			select {
			case <-i.wake:
			case <-i.stop:
				return nil
			}
			continue
		}
		if err := i.enter(next); err != nil {
			return err
		}
	}
}

// enter runs one turn: the call and every promise job that follows from it. After an error the machine must stop.
func (i *instance) enter(t turn) error {
	limit := i.m.turnLimit(t.inv)
	i.busyUntil.Store(&limit)
	i.watch.Reset(time.Until(limit) + i.m.host.limits.Grace + time.Millisecond)
	defer func() {
		i.busyUntil.Store(nil)
		i.watch.Stop()
	}()
	i.engine.limit(time.Until(limit))
	err := t.run(i.engine)
	for more := true; more && err == nil; {
		i.engine.limit(time.Until(limit))
		more, err = i.engine.drain()
	}
	select {
	case <-i.stop:
		return context.Canceled
	default:
	}
	switch {
	case err == nil && i.outOfMemory:
		return errMemory
	case err == nil:
		return nil
	case !time.Now().Before(limit):
		// Interrupted code may be incomplete, and an endless chain of promise jobs would continue in the next turn.
		return errOverran
	}
	return fmt.Errorf("the JavaScript engine: %w", err)
}

// hostCall handles calls of the prelude; it runs on the instance's goroutine inside a turn.
func (i *instance) hostCall(operation string, id int, text string) string {
	switch operation {
	case "done":
		i.m.finished(i, id, text)
	case "tool":
		i.m.callTool(i, id, text)
	case "timer":
		i.m.setTimer(i, id, text)
	case "clear":
		i.m.clearTimer(i, id, text)
	case "log":
		i.m.logLine(i, id, text)
	case "memory":
		i.outOfMemory = true
	case "loaded":
		i.loaded(text)
	case "abandon":
		i.m.abandonCall(i, id, text)
	default:
		return i.answer(operation, text)
	}
	return ""
}

// subscription is the format in which the prelude reports a subscription.
type subscription struct {
	EventType   string `json:"eventType"`
	HasPriority bool   `json:"hasPriority"`
	Priority    int    `json:"priority"`
	TimeoutMs   int    `json:"timeoutMs"`
}

func (i *instance) loaded(text string) {
	var parts []json.RawMessage
	var code, message string
	var list []subscription
	err := json.Unmarshal([]byte(text), &parts)
	if err == nil && len(parts) == 2 {
		err = json.Unmarshal(parts[0], &code)
	}
	switch {
	case err != nil || len(parts) != 2:
		i.report(hosting.LoadError(i.m.source, extensions.RegistrationFailed, "the registration can not be read"))
		return
	case code != "ok":
		_ = json.Unmarshal(parts[1], &message)
		if code == string(extensions.MissingRegister) {
			message = extensions.MissingRegisterText
		}
		i.report(hosting.LoadError(i.m.source, extensions.LoadCode(code), message))
		return
	}
	if err := json.Unmarshal(parts[1], &list); err != nil {
		i.report(hosting.LoadError(i.m.source, extensions.RegistrationFailed, "the registration can not be read: "+
			err.Error()))
		return
	}
	subscriptions := make([]extensions.Subscription, len(list))
	for n, s := range list {
		subscriptions[n] = extensions.Subscription{EventType: s.EventType, HasPriority: s.HasPriority, Priority: s.Priority,
			TimeoutMs: s.TimeoutMs}
	}
	i.report(i.m.registered(i, subscriptions))
}

// report publishes the outcome of loading; only the first one counts.
func (i *instance) report(err error) {
	select {
	case i.ready <- err:
	default:
	}
}
