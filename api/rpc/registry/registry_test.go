package registry_test

import (
	"slices"
	"testing"
	"time"

	"harness/api/rpc/registry"
	"harness/internal/operations"
	"harness/internal/runtime"
)

// R6, R15: the registry follows the server's runtimes, and its time changes only with its content.
func TestRegistryFollowsRuntimes(t *testing.T) {
	t.Parallel()
	one := operations.RuntimeState{Name: "codex", Default: true, Offered: operations.RuntimeActive}
	two := operations.RuntimeState{Name: "acp:own", Offered: operations.RuntimeDisabled}
	var stamp registry.Stamp
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	made := func(states ...operations.RuntimeState) registry.Registry {
		now = now.Add(time.Second)
		r := registry.Build(states)
		stamp.Set(&r, now)
		return r
	}
	first, same := made(one), made(one)
	both := made(one, two)
	if first.GeneratedAt != same.GeneratedAt || both.GeneratedAt == same.GeneratedAt ||
		first.GeneratedAt != "2026-11-22T12:00:01Z" {
		t.Errorf("made at %s, %s and %s", first.GeneratedAt, same.GeneratedAt, both.GeneratedAt)
	}
	if !slices.Equal(first.IDs(), []string{"codex"}) || !slices.Equal(both.IDs(), []string{"codex", "acp:own"}) ||
		!slices.Equal(made(one).IDs(), []string{"codex"}) {
		t.Errorf("it lists %v, then %v", first.IDs(), both.IDs())
	}
	if gone := both.Runtimes[1]; gone.DisplayName != "acp:own" || gone.StatusReason == nil ||
		both.Runtimes[0].StatusReason != nil || both.DefaultRuntime != "codex" {
		t.Errorf("%+v", both)
	}
}

// RR-06, RR-08: each flag of a runtime matches its capabilities independently, and its sources are where a client
// expects them.
func TestRegistryFlagsMatchCapabilities(t *testing.T) {
	t.Parallel()
	for name, able := range map[string]runtime.Capabilities{
		"nothing": {}, "resume": {Resume: true}, "questions": {ToolInput: true}, "permissions": {Approvals: true},
	} {
		one := registry.Build([]operations.RuntimeState{{Name: "codex", Default: true, Capabilities: able}}).Runtimes[0]
		if one.Resume != (name == "resume") || one.Questions != (name == "questions") || one.Permissions != (name == "permissions") {
			t.Errorf("%s: %+v", name, one)
		}
		if one.SessionListSource != "workspaceHistory" || one.SessionMessagesSource != "workspaceScoped" ||
			one.SessionWatchSource != "workspaceScoped" {
			t.Errorf("its sources are %+v", one)
		}
	}
}
