package js

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"harness/extensions"
	"harness/extensions/hosting"
)

// begin returns the first turn of an invocation.
func begin(inv *invocation) turn {
	return turn{inv: inv, run: func(e *engine) error {
		return e.call(e.invoke, inv.ID, inv.Subscription, string(inv.Event.JSON()), inv.Tools.HasSettings())
	}}
}

// shortestTurn is the minimum time of a turn.
const shortestTurn = 5 * time.Millisecond

// turnLimit returns the time by which a turn of the invocation must end.
func (m *module) turnLimit(inv *invocation) time.Time {
	m.Mu.Lock()
	ended := inv.Ended
	m.Mu.Unlock()
	now := time.Now()
	if ended {
		return now.Add(m.host.limits.AfterTurn)
	}
	limit := now.Add(m.host.limits.MaxTurn)
	deadline, ok := inv.Ctx.Deadline()
	switch {
	case !ok || deadline.After(limit):
		return limit
	case deadline.Before(now):
		return now.Add(m.host.limits.AfterTurn)
	case deadline.Before(now.Add(shortestTurn)):
		// A turn that starts just before the deadline is probably short: interrupting it would cost a machine
		// needlessly.
		return now.Add(shortestTurn)
	}
	return deadline
}

// live finds the invocation to which an operation of the machine belongs.
func (m *module) live(i *instance, id int) *invocation {
	if id == 0 {
		if i.loading != nil && !i.loading.Ended {
			return i.loading
		}
		return nil
	}
	if inv := m.Invocations[id]; inv != nil && inv.On == i && !inv.Ended {
		return inv
	}
	return nil
}

// finished handles the machine's message that a handler returned or threw.
func (m *module) finished(i *instance, id int, text string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	inv := m.live(i, id)
	if inv == nil || text == "" {
		return
	}
	o := outcome{Err: errors.New(text[1:])}
	if text[0] == '1' {
		o.Err = nil
		if len(text) > 1 {
			o.Value = json.RawMessage(text[1:])
		}
	}
	m.Finish(inv, o)
}

// owe queues another turn for the machine. The caller holds m.Mu.
func (m *module) owe(i *instance, t turn) {
	i.internal = append(i.internal, t)
	i.wake.Set()
}

// callTool runs one tool call concurrently with the machine and queues its answer. text is "callId name arguments".
func (m *module) callTool(i *instance, id int, text string) {
	number, rest, _ := strings.Cut(text, " ")
	name, arguments, _ := strings.Cut(rest, " ")
	call, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	inv := m.live(i, id)
	answer := func(ok bool, text string) turn {
		return turn{inv: inv, run: func(e *engine) error { return e.call(e.settle, call, ok, text) }}
	}
	use := useTool
	if name == "fetch" {
		use = m.fetch
	}
	if inv == nil || (inv.Tools == nil && name != "fetch") {
		inv = i.loading
		m.owe(i, answer(false, extensions.LateCall))
		return
	}
	ctx, cancel := context.WithCancel(inv.Ctx)
	if inv.Own.calls == nil {
		inv.Own.calls = map[string]context.CancelFunc{}
	}
	inv.Own.calls[number] = cancel
	m.Work.Add(1)
	go func() {
		defer m.Work.Done()
		defer cancel()
		result, err := use(ctx, inv, name, arguments)
		m.Mu.Lock()
		defer m.Mu.Unlock()
		delete(inv.Own.calls, number)
		if inv.Ended {
			return
		}
		if err != nil {
			m.owe(i, answer(false, err.Error()))
			return
		}
		m.owe(i, answer(true, string(result)))
	}()
}

// abandonCall ends a call for which no caller waits: an aborted fetch.
func (m *module) abandonCall(i *instance, id int, number string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if inv := m.live(i, id); inv != nil && inv.Own.calls[number] != nil {
		inv.Own.calls[number]()
	}
}

func useTool(ctx context.Context, inv *invocation, name, arguments string) (json.RawMessage, error) {
	var args []json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return nil, errors.New(name + " needs an argument")
	}
	return hosting.UseTool(ctx, inv.Tools, name, args)
}

// setTimer queues a turn after a delay. text is "timerId milliseconds".
func (m *module) setTimer(i *instance, id int, text string) {
	number, delay, _ := strings.Cut(text, " ")
	timer, err := strconv.Atoi(number)
	ms, err2 := strconv.ParseFloat(delay, 64)
	if err != nil || err2 != nil {
		return
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	inv := m.live(i, id)
	if inv == nil {
		return
	}
	if inv.Own.timers == nil {
		inv.Own.timers = map[string]*time.Timer{}
	}
	inv.Own.timers[number] = time.AfterFunc(time.Duration(ms*float64(time.Millisecond)), func() {
		m.Mu.Lock()
		defer m.Mu.Unlock()
		if inv.Ended {
			return
		}
		delete(inv.Own.timers, number)
		m.owe(i, turn{inv: inv, run: func(e *engine) error { return e.call(e.fire, timer) }})
	})
}

// clearTimer stops a timer, regardless of which live invocation set it.
func (m *module) clearTimer(i *instance, _ int, number string) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	stop := func(inv *invocation) {
		if inv == nil || inv.On != i {
			return
		}
		if timer := inv.Own.timers[number]; timer != nil {
			timer.Stop()
			delete(inv.Own.timers, number)
		}
	}
	stop(i.loading)
	for _, inv := range m.Invocations {
		stop(inv)
	}
}

// logLine writes a log line of the extension: through the invocation's tools, or to the server's log outside an
// invocation.
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
	m.Mu.Lock()
	inv := m.live(i, id)
	limit := m.host.limits.MaxLogLines
	if inv != nil {
		if inv.Lines++; inv.Lines > limit {
			first := inv.Lines == limit+1
			m.Mu.Unlock()
			if first {
				m.log.Warn().Int("limit", limit).Msg("an invocation logs more lines than it may; the rest is dropped")
			}
			return
		}
	}
	m.Mu.Unlock()
	if inv != nil && inv.Tools != nil {
		inv.Tools.Log(level, fields, message)
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
