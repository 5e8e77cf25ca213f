package runtimetest

import (
	"slices"
	"testing"

	"harness/internal/runtime"
)

// checkFacts checks that an adapter reports each of the ten facts in the task API's vocabulary, and that they agree
// with its capabilities.
func checkFacts(t *testing.T, c runtime.Capabilities) {
	t.Helper()
	f := c.Facts
	for _, fact := range []struct {
		name  string
		given []string
		words []string
	}{
		{"authModel", []string{f.Auth}, []string{runtime.AuthLocal, runtime.AuthKey, runtime.AuthBoth, ""}},
		{"toolExecutionModel", []string{f.ToolExecution}, []string{runtime.ToolsExternal, runtime.ToolsInternal, runtime.ToolsHybrid}},
		{"permissionModel", []string{f.Permission}, []string{runtime.PermissionServer, runtime.PermissionRuntime, runtime.PermissionHybrid}},
		{"stateModel", []string{f.State}, []string{runtime.StateMemory, runtime.StateDisk, runtime.StateServer}},
		{"resumeModel", []string{f.Resume}, []string{runtime.ResumeNative, runtime.ResumeReconstruct, runtime.ResumeNone}},
		{"toolReplaySafety", []string{f.Replay}, []string{runtime.ReplaySafe, runtime.ReplayAsks, ""}},
		{"mcpSupport", []string{f.MCP}, []string{runtime.MCPNone, runtime.MCPClient}},
		{"mcpTransports", f.Transports, []string{runtime.TransportHTTP, runtime.TransportStdio}},
		{"cancellationModel", []string{f.Cancellation}, []string{runtime.CancelBestEffort, runtime.CancelGuaranteed}},
		{"supportedIsolationModes", f.Isolation, []string{runtime.IsolationProcess}},
	} {
		for _, word := range fact.given {
			if !slices.Contains(fact.words, word) {
				t.Errorf("the adapter gives %s as %q, want one of %q", fact.name, word, fact.words)
			}
		}
	}
	if len(f.Isolation) == 0 || (f.MCP == runtime.MCPNone) != (len(f.Transports) == 0) {
		t.Errorf("the adapter gives isolation %q, MCP %q over %q", f.Isolation, f.MCP, f.Transports)
	}
	if f.Resume == runtime.ResumeReconstruct && !c.Reconstruct || f.Resume == runtime.ResumeNative && !c.Resume {
		t.Errorf("the adapter resumes as %q, its capabilities say otherwise: %+v", f.Resume, c)
	}
}
