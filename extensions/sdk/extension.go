package sdk

import (
	"context"
	"encoding/json"
)

// Extension is a native Go extension: compiled into the binary, but run like any other.
type Extension struct {
	// ModuleName orders its handlers among others of the same priority and identifies it in results. Name, Version,
	// AgentID and DisplayName correspond to a manifest and default to ModuleName and 0.0.0.
	ModuleName, Name, Version, AgentID, DisplayName string
	// Events and Actions are the declared capabilities; both nil means no declaration.
	Events, Actions []string
	// Register is called once at load, like registerAgentEvents. A panic fails the load.
	Register func(*Registry)
}

// Event is the input of a handler. Payload is one JSON object.
type Event struct {
	Type          string          `json:"type"`
	Payload       json.RawMessage `json:"payload"`
	EmittedAt     string          `json:"emittedAt,omitempty"`
	CorrelationID string          `json:"correlationId,omitempty"`
}

// Tools are the functions that a running handler may call; after it ended, every call is refused.
type Tools interface {
	// EnqueueJob queues a job.
	EnqueueJob(ctx context.Context, input EnqueueInput) (EnqueueOutcome, error)
	// SessionSettings returns a session's settings; SessionSetting returns one of them (nil if absent). Both return an
	// error if the server supplies no settings.
	SessionSettings(ctx context.Context, sessionID string) (map[string]json.RawMessage, error)
	SessionSetting(ctx context.Context, sessionID, key string) (json.RawMessage, error)
	// Log writes a line of the extension's log; level is debug, info, warn or error.
	Log(level string, fields map[string]any, message string)
}

// Handler handles one event. Its result is encoded as JSON and interpreted like the result of any extension: nil, an
// EnqueueOutcome, an ActionRequest, or anything else as details. It must end when ctx ends.
type Handler func(ctx context.Context, event Event, tools Tools) (any, error)

// Registration is one registered handler.
type Registration struct {
	EventType   string
	Priority    int
	HasPriority bool
	TimeoutMs   int
	Handler     Handler
}

// Option changes a registration.
type Option func(*Registration)

// Priority orders handlers, lowest first; the default is 100.
func Priority(priority int) Option {
	return func(r *Registration) { r.Priority, r.HasPriority = priority, true }
}

// TimeoutMs bounds one run of the handler; the default is 30 s.
func TimeoutMs(ms int) Option { return func(r *Registration) { r.TimeoutMs = ms } }

// Registry collects an extension's handlers.
type Registry struct{ registrations []Registration }

// On subscribes a handler to one event type. It ignores an empty type or a nil handler.
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

// Registrations returns the handlers in registration order.
func (r *Registry) Registrations() []Registration { return r.registrations }
