package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/extensions"
	"harness/extensions/js/bundle"
)

// receive acts on one message of a child. wanted tells whether the server had reason to expect it. An error is a breach of the protocol: the
// child must not go on.
func (m *module) receive(c *child, message incoming) (wanted bool, err error) {
	switch message.Type {
	case "ready":
		return true, m.ready(c, message)
	case "failed":
		return true, failure(m.source, message)
	case "result", "error", "ended":
		return m.returned(c, message), nil
	case "tool":
		return m.callTool(c, message)
	case "log":
		return m.logLine(c, message), nil
	}
	return false, fmt.Errorf("the child sent a message of the unknown type %q", clip(message.Type, 100))
}

// ready takes the subscriptions of the first child and holds later ones against them.
func (m *module) ready(c *child, message incoming) error {
	if message.Protocol != protocol {
		return loadError(m.source, extensions.ImportFailed, fmt.Sprintf("the child speaks protocol %d and not %d", message.Protocol, protocol))
	}
	const most = 1000
	if len(message.Subscriptions) > most {
		return loadError(m.source, extensions.RegistrationFailed, fmt.Sprintf("more than %d handlers", most))
	}
	list := make([]extensions.Subscription, len(message.Subscriptions))
	for i, s := range message.Subscriptions {
		if s.EventType == "" {
			return loadError(m.source, extensions.RegistrationFailed, "a subscription without eventType")
		}
		list[i] = s.public()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case c.ready:
		return errors.New("the child said ready twice")
	case m.subscriptions == nil:
		m.subscriptions, m.missing = list, missing(m.command.uses, message.Missing)
	case !slices.Equal(m.subscriptions, list):
		return errors.New("the extension registered other handlers than the first time; reload it")
	}
	c.ready = true
	c.parallel = min(max(message.Concurrency, 1), m.host.limits.MaxConcurrency)
	m.serving, m.served = c, true
	m.health.State = extensions.HealthOK
	select {
	case m.loaded <- nil:
	default: // Load was told long ago
	}
	m.dispatch()
	return nil
}

// missing is what the script uses and the child says its Node does not have.
func missing(uses []bundle.Use, names []string) (list []extensions.Missing) {
	for _, use := range uses {
		if slices.Contains(names, use.Name) {
			list = append(list, extensions.Missing{Name: use.Name, Place: use.Place(), Guarded: use.Guarded,
				Remedy: "is declared nowhere, and the Node of this server does not have it. Import it, declare it or correct its name."})
		}
	}
	return list
}

// returned is the child's word that an invocation is over, in one way or another.
func (m *module) returned(c *child, message incoming) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c != m.serving {
		return false
	}
	if stop, suspect := c.suspects[message.ID]; suspect {
		stop()
		delete(c.suspects, message.ID)
		c.running--
		m.dispatch()
		return true
	}
	inv := m.invocations[message.ID]
	if inv == nil || inv.on != c || message.Type == "ended" {
		return false
	}
	o := outcome{value: message.Value}
	limit := m.host.limits.MaxResult
	switch {
	case message.Type == "error":
		o = outcome{err: errors.New(clip(message.Message, maxMessage))}
	case len(message.Value) > limit:
		o = outcome{err: fmt.Errorf("the handler's result can not be used: %d bytes are more than the limit of %d", len(message.Value), limit)}
	}
	m.finish(inv, o)
	c.running--
	m.dispatch()
	return true
}

// callTool runs one tool call beside the reader and sends the answer.
func (m *module) callTool(c *child, message incoming) (wanted bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := func(value json.RawMessage, err error) {
		o := outgoing{Type: "answer", Call: message.Call, Value: value}
		if err != nil {
			text := err.Error()
			o.Value, o.Error = nil, &text
		}
		c.send(o)
	}
	if c.calls++; c.calls > m.host.limits.MaxCalls {
		return false, fmt.Errorf("more than %d tool calls wait for their answers", m.host.limits.MaxCalls)
	}
	inv := m.invocations[message.ID]
	if inv == nil || inv.on != c || inv.ended {
		c.calls--
		answer(nil, errors.New(extensions.LateCall))
		return false, nil
	}
	size := 0
	for _, arg := range message.Args {
		size += len(arg)
	}
	if size > m.host.limits.MaxResult {
		c.calls--
		answer(nil, fmt.Errorf("arguments of %d bytes are larger than the limit of %d", size, m.host.limits.MaxResult))
		return true, nil
	}
	m.workers.Add(1)
	go func() {
		defer m.workers.Done()
		value, err := useTool(inv, message.Name, message.Args)
		m.mu.Lock()
		defer m.mu.Unlock()
		c.calls--
		if inv.ended {
			value, err = nil, errors.New(extensions.LateCall)
		}
		if m.serving == c {
			answer(value, err)
		}
	}()
	return true, nil
}

func useTool(inv *invocation, name string, args []json.RawMessage) (json.RawMessage, error) {
	if inv.ctx.Err() != nil {
		return nil, errors.New(extensions.LateCall)
	}
	if len(args) == 0 {
		return nil, errors.New(name + " needs an argument")
	}
	if name == "enqueueJob" {
		return inv.tools.EnqueueJob(inv.ctx, args[0])
	}
	texts := make([]string, len(args))
	for n, arg := range args {
		if json.Unmarshal(arg, &texts[n]) != nil || string(arg) == "null" {
			return nil, errors.New(name + " needs strings as arguments")
		}
	}
	switch {
	case name == "getSessionSettings" && len(texts) == 1:
		return inv.tools.GetSessionSettings(inv.ctx, texts[0])
	case name == "getSessionSetting" && len(texts) == 2:
		return inv.tools.GetSessionSetting(inv.ctx, texts[0], texts[1])
	}
	return nil, errors.New("there is no tool " + clip(name, 100))
}

// logLine writes what the extension logs: through the invocation's tools, or to the server's log when none runs.
func (m *module) logLine(c *child, message incoming) bool {
	level := message.Level
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
		level = "info"
	}
	fields := message.Fields
	if len(fields) > maxMessage || string(fields) == "null" {
		fields = nil
	}
	text := clip(message.Message, maxMessage)
	m.mu.Lock()
	inv := m.invocations[message.ID]
	if inv != nil && inv.on != c {
		inv = nil
	}
	if inv != nil {
		if inv.lines++; inv.lines > m.host.limits.MaxLogLines {
			m.mu.Unlock()
			return false
		}
	}
	m.mu.Unlock()
	if inv != nil {
		inv.tools.Log(level, fields, text)
		return true
	}
	event := m.log.Info().Str("extensionLevel", level)
	if fields != nil {
		event = event.RawJSON("fields", fields)
	}
	event.Msg(text)
	return false
}
