package extensions

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Defaults of a registration.
const (
	defaultPriority = 100
	defaultTimeout  = 30 * time.Second
)

// ModuleInfo describes one loaded module in the listing. Keys and their order match codex-manager's; health and host
// follow them.
type ModuleInfo struct {
	ModuleName     string               `json:"moduleName"`
	Name           string               `json:"name"`
	Version        string               `json:"version"`
	AgentID        string               `json:"agentId"`
	DisplayName    string               `json:"displayName"`
	ManifestPath   *string              `json:"manifestPath"`
	EntrypointPath string               `json:"entrypointPath"`
	Events         []string             `json:"events"`
	Origin         Origin               `json:"origin"`
	Compatibility  CompatibilitySummary `json:"compatibility"`
	Capabilities   Capabilities         `json:"capabilities"`
	Trust          TrustEvaluation      `json:"trust"`
	Diagnostics    []string             `json:"diagnostics"`
	// Missing are the names that the code uses and its host lacks; Diagnostics repeats the names that break the code.
	Missing []Missing `json:"-"`
}

// binding is one handler with its position in the dispatch order.
type binding struct {
	module       Module
	moduleName   string
	extension    string
	declared     *Capabilities
	subscription int
	priority     int
	registration int // index over all modules, in load order
	timeout      time.Duration
}

// snapshot is an immutable set of loaded extensions. It is closed after its replacement, once its last emit has ended.
type snapshot struct {
	version  string
	loadedAt time.Time
	infos    []ModuleInfo
	modules  []Module
	byEvent  map[string][]binding
	agents   agentPolicies
	tools    []Tool

	refs    atomic.Int64 // emits in progress, plus one while the snapshot is active
	retired func()       // called once, when refs reaches zero
}

// acquire takes a reference; it returns false if the snapshot is already retired.
func (s *snapshot) acquire() bool {
	for {
		refs := s.refs.Load()
		if refs <= 0 {
			return false
		}
		if s.refs.CompareAndSwap(refs, refs+1) {
			return true
		}
	}
}

func (s *snapshot) release() {
	if s.refs.Add(-1) == 0 && s.retired != nil {
		s.retired()
	}
}

// loaded is one module that may run.
type loaded struct {
	info     ModuleInfo
	module   Module
	declared *Capabilities
	tools    []Tool // the tools, with Run unset
}

// newSnapshot sorts the handlers of all modules into dispatch order: priority, module name, registration index. Names
// are compared by bytes, so that the order does not depend on a locale.
func newSnapshot(version string, at time.Time, modules []loaded, timeout time.Duration) *snapshot {
	s := &snapshot{version: version, loadedAt: at, infos: []ModuleInfo{}, byEvent: map[string][]binding{}}
	s.refs.Store(1)
	registration := 0
	for _, m := range modules {
		s.infos = append(s.infos, m.info)
		s.modules = append(s.modules, m.module)
		for i, subscription := range m.module.Subscriptions() {
			b := binding{module: m.module, moduleName: m.info.ModuleName, extension: m.info.Name, declared: m.declared,
				subscription: i, priority: defaultPriority, registration: registration, timeout: timeout}
			registration++
			eventType := strings.TrimSpace(subscription.EventType)
			if eventType == "" {
				continue
			}
			if subscription.HasPriority {
				b.priority = subscription.Priority
			}
			if subscription.TimeoutMs > 0 {
				b.timeout = time.Duration(subscription.TimeoutMs) * time.Millisecond
			}
			s.byEvent[eventType] = append(s.byEvent[eventType], b)
		}
	}
	for _, bindings := range s.byEvent {
		slices.SortFunc(bindings, func(a, b binding) int {
			if a.priority != b.priority {
				return a.priority - b.priority
			}
			if d := strings.Compare(a.moduleName, b.moduleName); d != 0 {
				return d
			}
			return a.registration - b.registration
		})
	}
	return s
}

// moduleOf returns the module for an agent's name in a job: the one with that agent id, otherwise the one with that
// module name; nil for none.
func (s *snapshot) moduleOf(agent string) *ModuleInfo {
	for _, name := range []func(*ModuleInfo) string{
		func(m *ModuleInfo) string { return m.AgentID }, func(m *ModuleInfo) string { return m.ModuleName },
	} {
		if at := slices.IndexFunc(s.infos, func(m ModuleInfo) bool { return name(&m) == agent }); at >= 0 {
			return &s.infos[at]
		}
	}
	return nil
}

// events returns the distinct types to which a module subscribed, in registration order.
func events(subscriptions []Subscription) []string {
	out := []string{}
	for _, s := range subscriptions {
		if name := strings.TrimSpace(s.EventType); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
