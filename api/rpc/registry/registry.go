// Package registry lists the runtimes, their capabilities and their methods, for a client that routes its calls by
// runtime.
//
// It owns the registry's format. It builds the registry from the server's current runtimes (operations.RuntimeState),
// without a separate list. It must never know a socket.
package registry

import (
	"slices"
	"strings"
	"sync"
	"time"

	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
)

// SchemaVersion is the version of the registry's format. Additions increase the second number.
const SchemaVersion = "1.0"

// AgentField is the member of params that names a runtime.
const AgentField = "agent_type"

// The methods of a runtime by purpose.
const (
	History  = "workspace/session/history"
	Messages = "workspace/session/messages"
	Watch    = "workspace/session/watch"
	Unwatch  = "workspace/session/unwatch"
	Start    = "session/start"
	Send     = "session/send"
	Stop     = "session/stop"
	Input    = "session/input"
	Respond  = "session/respond"
	State    = "session/state"
)

// Registry is capabilities.runtimeRegistry in the response to initialize.
type Registry struct {
	SchemaVersion  string    `json:"schemaVersion"`
	GeneratedAt    string    `json:"generatedAt"`
	DefaultRuntime string    `json:"defaultRuntime"`
	Routing        Routing   `json:"routing"`
	Runtimes       []Runtime `json:"runtimes"`
}

// Routing defines how a call names its runtime.
type Routing struct {
	AgentTypeField    string   `json:"agentTypeField"`
	DefaultAgentType  string   `json:"defaultAgentType"`
	RequiredOnMethods []string `json:"requiredOnMethods"`
}

// Runtime is one runtime as clients see it.
type Runtime struct {
	ID                    string                   `json:"id"`
	DisplayName           string                   `json:"displayName"`
	Status                operations.RuntimeStatus `json:"status"`
	StatusReason          *string                  `json:"statusReason"`
	SessionListSource     string                   `json:"sessionListSource"`
	SessionMessagesSource string                   `json:"sessionMessagesSource"`
	SessionWatchSource    string                   `json:"sessionWatchSource"`
	// ActivatesOnResume and ResolvesNewIDs describe how cdev's clients treat Claude Code.
	ActivatesOnResume bool                 `json:"requiresWorkspaceActivationOnResume"`
	ResolvesNewIDs    bool                 `json:"requiresSessionResolutionOnNewSession"`
	Resume            bool                 `json:"supportsResume"`
	Questions         bool                 `json:"supportsInteractiveQuestions"`
	Permissions       bool                 `json:"supportsPermissions"`
	Methods           Methods              `json:"methods"`
	Capabilities      runtime.Capabilities `json:"capabilities"`
	Version           string               `json:"version"`
}

// Methods names the methods of a runtime by purpose.
type Methods struct {
	History  string `json:"history"`
	Messages string `json:"messages"`
	Watch    string `json:"watch"`
	Unwatch  string `json:"unwatch"`
	Start    string `json:"start"`
	Send     string `json:"send"`
	Stop     string `json:"stop"`
	Input    string `json:"input"`
	Respond  string `json:"respond"`
	State    string `json:"state"`
}

// Named returns the methods that a registry names, sorted.
func Named() []string {
	names := []string{History, Messages, Watch, Unwatch, Start, Send, Stop, Input, Respond, State}
	slices.Sort(names)
	return names
}

// RequiredOn are the methods on which clients name the runtime.
func RequiredOn() []string { return []string{Start, Send, Stop, Input, Respond} }

// ResolvesNewIDs reports whether new sessions of a runtime first get a temporary id. cdev gets the id of a Claude
// session only after the session starts.
func ResolvesNewIDs(id string) bool { return id == claude }

const claude = "claude"

// title returns the display name of an agent, by default its id.
func title(id string) string {
	for _, known := range []string{"Claude", "Codex", "Gemini", "OpenCode"} {
		if strings.EqualFold(known, id) {
			return known
		}
	}
	return id
}

// Build returns the registry of these runtimes, the default one first.
func Build(states []operations.RuntimeState) Registry {
	r := Registry{SchemaVersion: SchemaVersion,
		Routing: Routing{AgentTypeField: AgentField, RequiredOnMethods: RequiredOn()}, Runtimes: []Runtime{}}
	for _, state := range states {
		if state.Default {
			r.DefaultRuntime, r.Routing.DefaultAgentType = state.Name, state.Name
		}
		one := Runtime{
			ID: state.Name, DisplayName: title(state.Name), Status: state.Offered,
			SessionListSource: "workspaceHistory", SessionMessagesSource: "workspaceScoped",
			SessionWatchSource: "workspaceScoped", ActivatesOnResume: state.Name == claude,
			ResolvesNewIDs: ResolvesNewIDs(state.Name),
			Resume:         state.Capabilities.Resume, Questions: state.Capabilities.ToolInput,
			Permissions: state.Capabilities.Approvals, Methods: Methods{History, Messages, Watch, Unwatch, Start, Send, Stop,
				Input, Respond, State},
			Capabilities: state.Capabilities, Version: state.Status.Version,
		}
		if state.Offered == operations.RuntimeDisabled {
			// The reason has no details, because a system error may contain a path.
			reason := "disabled by the operator"
			if state.Missing {
				reason = one.DisplayName + " is not installed on the server"
			}
			one.StatusReason = &reason
		}
		r.Runtimes = append(r.Runtimes, one)
	}
	return r
}

// IDs returns the runtimes' names in order.
func (r Registry) IDs() []string {
	ids := make([]string, len(r.Runtimes))
	for i, one := range r.Runtimes {
		ids[i] = one.ID
	}
	return ids
}

// Stamp stores when a registry last changed. Its zero value is ready.
type Stamp struct {
	mu   sync.Mutex
	last string
	at   string
}

// Set sets the time of a registry: now, or the previous time if the content is the same.
func (s *Stamp) Set(r *Registry, now time.Time) {
	r.GeneratedAt = ""
	said := string(javascript.MustEncode(r))
	s.mu.Lock()
	defer s.mu.Unlock()
	if said != s.last {
		s.last, s.at = said, now.UTC().Format(time.RFC3339Nano)
	}
	r.GeneratedAt = s.at
}
