package sdk

import (
	"context"
	"encoding/json"
)

// Extension is a native Go extension: compiled into the binary, run like any other.
type Extension struct {
	// ModuleName orders its handlers among others of the same priority and names it in results. Name, Version, AgentID
	// and DisplayName correspond to a manifest and default to ModuleName and 0.0.0.
	ModuleName, Name, Version, AgentID, DisplayName string
	// Events and Actions are the declared capabilities; both nil means none were declared.
	Events, Actions []string
	// Register is called once at load, as registerAgentEvents is. A panic fails the load.
	Register func(*Registry)
}

// Event is what a handler receives. Payload is one JSON object.
type Event struct {
	Type          string          `json:"type"`
	Payload       json.RawMessage `json:"payload"`
	EmittedAt     string          `json:"emittedAt,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"`
}

// Tools are the calls of a running handler; afterwards every call is refused.
type Tools interface {
	// EnqueueJob queues a job.
	EnqueueJob(ctx context.Context, input EnqueueInput) (EnqueueOutcome, error)
	// SessionSettings are a session's settings, SessionSetting is one of them (nil when absent). Both return an error
	// when the server supplies none.
	SessionSettings(ctx context.Context, sessionID string) (map[string]json.RawMessage, error)
	SessionSetting(ctx context.Context, sessionID, key string) (json.RawMessage, error)
	// Log writes a line of the extension's log; level is debug, info, warn or error.
	Log(level string, fields map[string]any, message string)
}

// Handler handles one event. Its result is encoded as JSON and read like the result of any extension: nil, an
// EnqueueOutcome, an ActionRequest, or anything else as details. It must end when ctx does.
type Handler func(ctx context.Context, event Event, tools Tools) (any, error)

// Registration is one handler as it was registered.
type Registration struct {
	EventType   string
	Priority    int
	HasPriority bool
	TimeoutMs   int
	Handler     Handler
}

// Option changes a registration.
type Option func(*Registration)

// Priority orders handlers: low first, 100 without it.
func Priority(priority int) Option {
	return func(r *Registration) { r.Priority, r.HasPriority = priority, true }
}

// TimeoutMs bounds one run of the handler, 30 s without it.
func TimeoutMs(ms int) Option { return func(r *Registration) { r.TimeoutMs = ms } }

// Registry collects an extension's handlers.
type Registry struct{ registrations []Registration }

// On subscribes a handler to one event type. An empty type or a nil handler is ignored.
func (r *Registry) On(eventType string, handler Handler, options ...Option) {
	if eventType == "" || handler == nil {
		return
	}
	registration := Registration{EventType: eventType, Handler: handler}
	for _, option := range options {
		option(&registration)
	}
	r.registrations = append(r.registrations, registration)
}

// Registrations are the handlers in the order they were registered.
func (r *Registry) Registrations() []Registration { return r.registrations }
