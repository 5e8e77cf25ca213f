package js

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"harness/extensions"
)

// invocation is one run of a handler. Its fields are guarded by the module's mutex once it was submitted.
type invocation struct {
	id           int
	ctx          context.Context
	cancel       context.CancelFunc
	subscription int
	event        *extensions.Event
	tools        extensions.Tools
	out          chan outcome

	// on is the machine that runs it, nil while it waits.
	on     *instance
	ended  bool
	timers map[string]*time.Timer
	// calls are the fetches that are under way, by the number of the call.
	calls map[string]context.CancelFunc
	lines int
}

type outcome struct {
	value json.RawMessage
	err   error
}

// begin is the first turn of an invocation.
func (inv *invocation) begin() turn {
	return turn{inv: inv, run: func(e *engine) error {
		return e.call(e.invoke, inv.id, inv.subscription, string(inv.event.JSON()), inv.tools.HasSettings())
	}}
}

// shortestTurn is what every turn gets.
const shortestTurn = 5 * time.Millisecond

// turnLimit is when a turn of the invocation has to be over.
func (m *module) turnLimit(inv *invocation) time.Time {
	m.mu.Lock()
	ended := inv.ended
	m.mu.Unlock()
	now := time.Now()
	if ended {
		return now.Add(m.host.limits.AfterTurn)
	}
	limit := now.Add(m.host.limits.MaxTurn)
	deadline, ok := inv.ctx.Deadline()
	switch {
	case !ok || deadline.After(limit):
		return limit
	case deadline.Before(now):
		return now.Add(m.host.limits.AfterTurn)
	case deadline.Before(now.Add(shortestTurn)):
		// A turn that begins just before the deadline is most likely a short one: cutting it would cost the machine for nothing.
		return now.Add(shortestTurn)
	}
	return deadline
}

// live finds the invocation an operation of the machine belongs to.
func (m *module) live(i *instance, id int) *invocation {
	if id == 0 {
		if i.loading != nil && !i.loading.ended {
			return i.loading
		}
		return nil
	}
	if inv := m.invocations[id]; inv != nil && inv.on == i && !inv.ended {
		return inv
	}
	return nil
}

// finish ends an invocation with an outcome. The caller holds m.mu.
func (m *module) finish(inv *invocation, o outcome) {
	if inv.ended {
		return
	}
	inv.ended = true
	inv.cancel()
	for _, timer := range inv.timers {
		timer.Stop()
	}
	inv.timers = nil
	delete(m.invocations, inv.id)
	inv.out <- o
}

// finished is the machine's word that a handler returned or threw.
func (m *module) finished(i *instance, id int, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	inv := m.live(i, id)
	if inv == nil || text == "" {
		return
	}
	o := outcome{err: errors.New(text[1:])}
	if text[0] == '1' {
		o.err = nil
		if len(text) > 1 {
			o.value = json.RawMessage(text[1:])
		}
	}
	m.finish(inv, o)
}

// owe gives the machine another turn. The caller holds m.mu.
func (m *module) owe(i *instance, t turn) {
	i.internal = append(i.internal, t)
	signal(i.wake)
}

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// callTool runs one tool call beside the machine and owes it the answer. text is "callId name arguments".
func (m *module) callTool(i *instance, id int, text string) {
	number, rest, _ := strings.Cut(text, " ")
	name, arguments, _ := strings.Cut(rest, " ")
	call, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	inv := m.live(i, id)
	answer := func(ok bool, text string) turn {
		return turn{inv: inv, run: func(e *engine) error { return e.call(e.settle, call, ok, text) }}
	}
	use := useTool
	if name == "fetch" {
		use = m.fetch
	}
	if inv == nil || (inv.tools == nil && name != "fetch") {
		inv = i.loading
		m.owe(i, answer(false, extensions.LateCall))
		return
	}
	ctx, cancel := context.WithCancel(inv.ctx)
	if inv.calls == nil {
		inv.calls = map[string]context.CancelFunc{}
	}
	inv.calls[number] = cancel
	m.workers.Add(1)
	go func() {
		defer m.workers.Done()
		defer cancel()
		result, err := use(ctx, inv, name, arguments)
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(inv.calls, number)
		if inv.ended {
			return
		}
		if err != nil {
			m.owe(i, answer(false, err.Error()))
			return
		}
		m.owe(i, answer(true, string(result)))
	}()
}

// abandonCall ends a call nobody waits for any more: an aborted fetch.
func (m *module) abandonCall(i *instance, id int, number string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if inv := m.live(i, id); inv != nil && inv.calls[number] != nil {
		inv.calls[number]()
	}
}

func useTool(ctx context.Context, inv *invocation, name, arguments string) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, errors.New(extensions.LateCall)
	}
	var args []json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &args); err != nil || len(args) == 0 {
		return nil, errors.New(name + " needs an argument")
	}
	if name == "enqueueJob" {
		return inv.tools.EnqueueJob(ctx, args[0])
	}
	texts := make([]string, len(args))
	for n, arg := range args {
		if json.Unmarshal(arg, &texts[n]) != nil || string(arg) == "null" {
			return nil, errors.New(name + " needs strings as arguments")
		}
	}
	switch {
	case name == "getSessionSettings" && len(texts) == 1:
		return inv.tools.GetSessionSettings(ctx, texts[0])
	case name == "getSessionSetting" && len(texts) == 2:
		return inv.tools.GetSessionSetting(ctx, texts[0], texts[1])
	}
	return nil, errors.New("there is no tool " + name)
}

// setTimer owes the machine a turn later. text is "timerId milliseconds".
func (m *module) setTimer(i *instance, id int, text string) {
	number, delay, _ := strings.Cut(text, " ")
	timer, err := strconv.Atoi(number)
	ms, err2 := strconv.ParseFloat(delay, 64)
	if err != nil || err2 != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	inv := m.live(i, id)
	if inv == nil {
		return
	}
	if inv.timers == nil {
		inv.timers = map[string]*time.Timer{}
	}
	inv.timers[number] = time.AfterFunc(time.Duration(ms*float64(time.Millisecond)), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if inv.ended {
			return
		}
		delete(inv.timers, number)
		m.owe(i, turn{inv: inv, run: func(e *engine) error { return e.call(e.fire, timer) }})
	})
}

// clearTimer stops a timer, whichever live invocation set it.
func (m *module) clearTimer(i *instance, _ int, number string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stop := func(inv *invocation) {
		if inv == nil || inv.on != i {
			return
		}
		if timer := inv.timers[number]; timer != nil {
			timer.Stop()
			delete(inv.timers, number)
		}
	}
	stop(i.loading)
	for _, inv := range m.invocations {
		stop(inv)
	}
}

// logLine writes what the extension logs: through the invocation's tools, or to the server's log when none runs.
func (m *module) logLine(i *instance, id int, text string) {
	var parts []json.RawMessage
	var level, message string
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 3 ||
		json.Unmarshal(parts[0], &level) != nil || json.Unmarshal(parts[2], &message) != nil {
		return
	}
	fields := parts[1]
	if string(fields) == "null" {
		fields = nil
	}
	m.mu.Lock()
	inv := m.live(i, id)
	limit := m.host.limits.MaxLogLines
	if inv != nil {
		if inv.lines++; inv.lines > limit {
			first := inv.lines == limit+1
			m.mu.Unlock()
			if first {
				m.log.Warn().Int("limit", limit).Msg("an invocation logs more lines than it may; the rest is dropped")
			}
			return
		}
	}
	m.mu.Unlock()
	if inv != nil && inv.tools != nil {
		inv.tools.Log(level, fields, message)
		return
	}
	m.log.Info().Str("extensionLevel", level).RawJSON("fields", orNull(fields)).Msg(message)
}

func orNull(fields json.RawMessage) []byte {
	if fields == nil {
		return []byte("null")
	}
	return fields
}
