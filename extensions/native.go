package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/extensions/sdk"
)

// native runs an extension compiled into this binary. Handlers run concurrently, each on its own goroutine; a handler
// that exceeds its timeout is abandoned.
type native struct{ registrations []sdk.Registration }

// loadNative registers a native extension's handlers.
func loadNative(extension sdk.Extension) (module Module, err error) {
	if extension.Register == nil {
		return nil, &LoadError{Code: MissingRegister, Message: MissingRegisterText}
	}
	defer func() {
		if p := recover(); p != nil {
			module, err = nil, &LoadError{Code: RegistrationFailed, Message: fmt.Sprint(p)}
		}
	}()
	registry := &sdk.Registry{}
	extension.Register(registry)
	return &native{registrations: registry.Registrations()}, nil
}

// Subscriptions implements Module.
func (n *native) Subscriptions() []Subscription {
	out := make([]Subscription, len(n.registrations))
	for i, r := range n.registrations {
		out[i] = Subscription{EventType: r.EventType, Priority: r.Priority, HasPriority: r.HasPriority,
			TimeoutMs: r.TimeoutMs}
	}
	return out
}

// Handle implements Module.
func (n *native) Handle(ctx context.Context, subscription int, event *Event, tools Tools) (json.RawMessage, error) {
	type outcome struct {
		raw json.RawMessage
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() {
			if p := recover(); p != nil {
				out = outcome{err: fmt.Errorf("panic: %v", p)}
			}
			done <- out
		}()
		value, err := n.registrations[subscription].Handler(ctx, sdk.Event{Type: event.Type, Payload: event.Payload,
			EmittedAt: event.EmittedAt, CorrelationID: event.CorrelationID}, nativeTools{tools})
		if err != nil || value == nil {
			out.err = err
			return
		}
		if out.raw, err = json.Marshal(value); err != nil {
			out.err = fmt.Errorf("the handler's result is not JSON: %w", err)
		}
	}()
	select {
	case out := <-done:
		return out.raw, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Health implements Module.
func (n *native) Health() Health { return Health{State: HealthOK} }

// Close implements Module.
func (n *native) Close(context.Context) error { return nil }

// nativeTools gives typed tools to native handlers.
type nativeTools struct{ tools Tools }

// EnqueueJob implements sdk.Tools.
func (t nativeTools) EnqueueJob(ctx context.Context, input sdk.EnqueueInput) (sdk.EnqueueOutcome, error) {
	var outcome sdk.EnqueueOutcome
	encoded, err := json.Marshal(input)
	if err != nil {
		return outcome, fmt.Errorf("job input is not JSON: %w", err)
	}
	raw, err := t.tools.EnqueueJob(ctx, encoded)
	if err != nil {
		return outcome, err
	}
	return outcome, json.Unmarshal(raw, &outcome)
}

var errNoSettings = errors.New("this server supplies no session settings")

// SessionSettings implements sdk.Tools.
func (t nativeTools) SessionSettings(ctx context.Context, sessionID string) (map[string]json.RawMessage, error) {
	if !t.tools.HasSettings() {
		return nil, errNoSettings
	}
	raw, err := t.tools.GetSessionSettings(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	settings := map[string]json.RawMessage{}
	return settings, json.Unmarshal(raw, &settings)
}

// SessionSetting implements sdk.Tools.
func (t nativeTools) SessionSetting(ctx context.Context, sessionID, key string) (json.RawMessage, error) {
	if !t.tools.HasSettings() {
		return nil, errNoSettings
	}
	return t.tools.GetSessionSetting(ctx, sessionID, key)
}

// Log implements sdk.Tools.
func (t nativeTools) Log(level string, fields map[string]any, message string) {
	encoded, err := json.Marshal(fields)
	if err != nil {
		encoded = encode(map[string]string{"fields": fmt.Sprint(fields)})
	}
	t.tools.Log(level, encoded, message)
}
