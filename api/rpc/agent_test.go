package rpc

import (
	"slices"
	"testing"
)

// RR-16: every method for a runtime accepts the runtime's name. Every method refuses an unknown name with agent_type,
// method and supported_agent_types.
func TestEveryRuntimeMethodAcceptsRuntimeName(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, m := range table() {
		if m.scope != scopeRuntime {
			continue
		}
		seen++
		if !slices.ContainsFunc(m.params, func(p param) bool { return p.name == agentField }) {
			t.Errorf("%s ignores %s", m.name, agentField)
		}
	}
	if seen < 15 {
		t.Errorf("only %d methods were looked at", seen)
	}
}
