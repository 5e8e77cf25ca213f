package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/extensions"
	"harness/extensions/hosting"
	"harness/extensions/js/bundle"
)

// receive handles one message of a child. wanted reports whether the server expected it. An error is a violation of the
// protocol and stops the child.
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

// ready stores the subscriptions of the first child and compares later ones with them.
func (m *module) ready(c *child, message incoming) error {
	if message.Protocol != protocol {
		return hosting.LoadError(m.source, extensions.ImportFailed,
			fmt.Sprintf("the child speaks protocol %d and not %d", message.Protocol, protocol))
	}
	const most = 1000
	if len(message.Subscriptions) > most {
		return hosting.LoadError(m.source, extensions.RegistrationFailed, fmt.Sprintf("more than %d handlers", most))
	}
	list := make([]extensions.Subscription, len(message.Subscriptions))
	for i, s := range message.Subscriptions {
		if s.EventType == "" {
			return hosting.LoadError(m.source, extensions.RegistrationFailed, "a subscription without eventType")
		}
		list[i] = s.public()
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if c.ready {
		return errors.New("the child said ready twice")
	}
	if m.Registered == nil {
		m.missing = missing(m.command.uses, message.Missing)
	}
	if err := m.Register(list); err != nil {
		return err
	}
	c.ready = true
	c.parallel = min(max(message.Concurrency, 1), m.host.limits.MaxConcurrency)
	m.Admit(c)
	m.dispatch()
	return nil
}

// missing returns the names that the script uses and the child's Node lacks.
func missing(uses []bundle.Use, names []string) (list []extensions.Missing) {
	for _, use := range uses {
		if slices.Contains(names, use.Name) {
			list = append(list, extensions.Missing{Name: use.Name, Position: use.Position(), Guarded: use.Guarded,
				Remedy: "is declared nowhere, and the Node of this server does not have it. Import it, declare it or correct its name."})
		}
	}
	return list
}

// returned handles the child's message that an invocation ended.
func (m *module) returned(c *child, message incoming) bool {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	if c != m.Serving {
		return false
	}
	if stop, suspect := c.suspects[message.ID]; suspect {
		stop()
		delete(c.suspects, message.ID)
		c.running--
		m.dispatch()
		return true
	}
	inv := m.Invocations[message.ID]
	if inv == nil || inv.On != c || message.Type == "ended" {
		return false
	}
	o := outcome{Value: message.Value}
	limit := m.host.limits.MaxResult
	switch {
	case message.Type == "error":
		o = outcome{Err: errors.New(clip(message.Message, maxMessage))}
	case len(message.Value) > limit:
		o = outcome{Err: fmt.Errorf("the handler's result can not be used: %d bytes are more than the limit of %d",
			len(message.Value), limit)}
	}
	m.Finish(inv, o)
	c.running--
	m.dispatch()
	return true
}

// callTool runs one tool call concurrently with the reader and sends the answer.
func (m *module) callTool(c *child, message incoming) (wanted bool, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
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
	inv := m.Invocations[message.ID]
	if inv == nil || inv.On != c || inv.Ended {
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
	m.Work.Add(1)
	go func() {
		defer m.Work.Done()
		value, err := hosting.UseTool(inv.Ctx, inv.Tools, message.Name, message.Args)
		m.Mu.Lock()
		defer m.Mu.Unlock()
		c.calls--
		if inv.Ended {
			value, err = nil, errors.New(extensions.LateCall)
		}
		if m.Serving == c {
			answer(value, err)
		}
	}()
	return true, nil
}

// logLine writes a log line of the extension: through the invocation's tools, or to the server's log outside an
// invocation.
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
	m.Mu.Lock()
	inv := m.Invocations[message.ID]
	if inv != nil && inv.On != c {
		inv = nil
	}
	if inv != nil {
		if inv.Lines++; inv.Lines > m.host.limits.MaxLogLines {
			m.Mu.Unlock()
			return false
		}
	}
	m.Mu.Unlock()
	if inv != nil {
		inv.Tools.Log(level, fields, text)
		return true
	}
	event := m.log.Info().Str("extensionLevel", level)
	if fields != nil {
		event = event.RawJSON("fields", fields)
	}
	event.Msg(text)
	return false
}
