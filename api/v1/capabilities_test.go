package v1_test

import (
	"net/http"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/tests/runtimetest/scripted"
)

// RA-01: the capabilities of a runtime are ten flags and limits, and ten facts with values that clients know, as
// reported by its adapter.
func TestCapabilitiesMatchAdapter(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	got := s.want(http.StatusOK, http.MethodGet, "/v1/capabilities?runtime="+scripted.Name, nil)
	adapter, err := s.Chosen(scripted.Name)
	if err != nil {
		t.Fatal(err)
	}
	can := runtime.CapabilitiesOf(adapter)
	for flag, want := range map[string]bool{"supportsStreaming": can.Streaming, "supportsToolCalls": true,
		"supportsParallelToolCalls": can.ParallelToolCalls, "supportsSessionCreate": true, "supportsSessionResume": can.Resume,
		"supportsStop": can.Interrupt, "supportsArtifacts": true, "supportsUsageReporting": can.Usage,
		"reconstructsLostSessions": can.Reconstruct,
		"supportsNonInteractive":   slices.Contains(can.ApprovalPolicies, "never")} {
		if is, there := got[flag].(bool); !there || is != want {
			t.Errorf("%s is %v, want %v", flag, got[flag], want)
		}
	}
	if most, is := got["maxOutstandingToolCalls"].(float64); !is || int(most) != can.MaxToolCalls() {
		t.Errorf("maxOutstandingToolCalls is %v", got["maxOutstandingToolCalls"])
	}
	for fact, words := range map[string][]string{
		"authModel":               {"oauth_local", "api_key", "both"},
		"toolExecutionModel":      {"external_mcp", "runtime_internal", "hybrid"},
		"permissionModel":         {"codesdk", "runtime", "hybrid"},
		"stateModel":              {"in_process", "local_disk", "server_side", "hybrid"},
		"resumeModel":             {"native", "reconstruct", "none"},
		"toolReplaySafety":        {"safe_replay", "requires_reapproval", "unknown"},
		"mcpSupport":              {"none", "client_only", "server_only", "both"},
		"mcpTransports":           {"stdio", "sse", "http"},
		"cancellationModel":       {"best_effort", "guaranteed", "unknown"},
		"supportedIsolationModes": {"in_process", "subprocess", "server_side"},
	} {
		var given []any
		switch value := got[fact].(type) {
		case string:
			given = []any{value}
		case []any:
			given = value
		default:
			t.Errorf("%s is %v", fact, value)
		}
		for _, word := range given {
			if text, is := word.(string); !is || !slices.Contains(words, text) {
				t.Errorf("%s is %v, want one of %v", fact, word, words)
			}
		}
	}
	for fact, want := range map[string]string{"authModel": can.Facts.Auth, "toolExecutionModel": can.Facts.ToolExecution,
		"permissionModel": can.Facts.Permission, "stateModel": can.Facts.State, "resumeModel": can.Facts.Resume,
		"toolReplaySafety": can.Facts.Replay, "mcpSupport": can.Facts.MCP, "cancellationModel": can.Facts.Cancellation} {
		if got[fact] != want || want == "" {
			t.Errorf("%s is %v, its adapter says %q", fact, got[fact], want)
		}
	}
	if http := got["mcpSupport"] == "client_only"; http != (can.OwnedTools == runtime.OwnedMCP || can.OwnedTools == runtime.OwnedControl) {
		t.Errorf("mcpSupport is %v, and it reaches tools of ours by %s", got["mcpSupport"], can.OwnedTools)
	}
}

// RA-12, SE-01: every view of a session has its runtime, how that is hosted, and the permission mode. A session
// opened by another API has no mode, unless the server has one.
func TestSessionViewHasRuntimeAndMode(t *testing.T) {
	t.Parallel()
	s := open(t, database.SQLite)
	can := s.want(http.StatusOK, http.MethodGet, "/v1/capabilities?runtime="+scripted.Name, nil)
	asks, other := idOf(s.ask()), s.NewSession()
	check := func(shown object) {
		t.Helper()
		var mode any
		if shown["session_id"] == asks {
			mode = "ask"
		}
		if shown["runtime"] != scripted.Name || shown["permission_mode"] != mode ||
			!slices.Contains(can["supportedIsolationModes"].([]any), shown["isolation_mode"]) {
			t.Errorf("%v", shown)
		}
	}
	listed := s.want(http.StatusOK, http.MethodGet, "/v1/sessions", nil)["sessions"].([]any)
	if len(listed) != 2 {
		t.Fatalf("%v", listed)
	}
	for _, one := range listed {
		check(one.(object))
	}
	for _, id := range []string{asks, other} {
		check(s.want(http.StatusOK, http.MethodGet, "/v1/sessions/"+id, nil))
	}
}
