// Package registry says which runtimes there are, what each can do and which methods are about it, in the words of a
// client that routes its calls by runtime.
//
// It is made of what the server's runtimes are now (operations.RuntimeState) and keeps no list of its own. It must
// never know a socket.
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

// SchemaVersion is the version of the registry's format: the second number grows with what is added.
const SchemaVersion = "1.0"

// AgentField is the member of params that names a runtime.
const AgentField = "agent_type"

// The methods of a runtime by what they do.
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

// Registry is capabilities.runtimeRegistry of the answer to initialize.
type Registry struct {
	SchemaVersion  string    `json:"schemaVersion"`
	GeneratedAt    string    `json:"generatedAt"`
	DefaultRuntime string    `json:"defaultRuntime"`
	Routing        Routing   `json:"routing"`
	Runtimes       []Runtime `json:"runtimes"`
}

// Routing says how a call names its runtime.
type Routing struct {
	AgentTypeField    string   `json:"agentTypeField"`
	DefaultAgentType  string   `json:"defaultAgentType"`
	RequiredOnMethods []string `json:"requiredOnMethods"`
}

// Runtime is what clients get about one runtime.
type Runtime struct {
	ID                    string                   `json:"id"`
	DisplayName           string                   `json:"displayName"`
	Status                operations.RuntimeStatus `json:"status"`
	StatusReason          *string                  `json:"statusReason"`
	SessionListSource     string                   `json:"sessionListSource"`
	SessionMessagesSource string                   `json:"sessionMessagesSource"`
	SessionWatchSource    string                   `json:"sessionWatchSource"`
	// ActivatesOnResume and ResolvesNewIDs are what cdev's clients do for Claude Code.
	ActivatesOnResume bool                 `json:"requiresWorkspaceActivationOnResume"`
	ResolvesNewIDs    bool                 `json:"requiresSessionResolutionOnNewSession"`
	Resume            bool                 `json:"supportsResume"`
	Questions         bool                 `json:"supportsInteractiveQuestions"`
	Permissions       bool                 `json:"supportsPermissions"`
	Methods           Methods              `json:"methods"`
	Capabilities      runtime.Capabilities `json:"capabilities"`
	Version           string               `json:"version"`
}

// Methods names the methods of a runtime by what they do.
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

// Named are the methods a registry names, sorted.
func Named() []string {
	names := []string{History, Messages, Watch, Unwatch, Start, Send, Stop, Input, Respond, State}
	slices.Sort(names)
	return names
}

// RequiredOn are the methods on which clients say the runtime.
func RequiredOn() []string { return []string{Start, Send, Stop, Input, Respond} }

// ResolvesNewIDs reports whether new sessions of a runtime get a temporary id first: cdev learns the id of a Claude
// session after its start.
func ResolvesNewIDs(id string) bool { return id == claude }

const claude = "claude"

// titles are the names of agents for people; others go by their id.
func title(id string) string {
	for _, known := range []string{"Claude", "Codex", "Gemini", "OpenCode"} {
		if strings.EqualFold(known, id) {
			return known
		}
	}
	return id
}

// Build is the registry of these runtimes, the default one first.
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
			// Not why in detail: an error of the system may name a path.
			reason := "switched off by the operator"
			if state.Missing {
				reason = one.DisplayName + " is not installed on the server"
			}
			one.StatusReason = &reason
		}
		r.Runtimes = append(r.Runtimes, one)
	}
	return r
}

// IDs are the runtimes' names in their order.
func (r Registry) IDs() []string {
	ids := make([]string, len(r.Runtimes))
	for i, one := range r.Runtimes {
		ids[i] = one.ID
	}
	return ids
}

// Stamp gives registries the time they last changed. Its zero value is ready.
type Stamp struct {
	mu   sync.Mutex
	last string
	at   string
}

// Set sets when a registry was made: now, or when the last one was when it says the same.
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
