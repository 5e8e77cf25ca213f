package acp_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/mockmodel"
	"harness/runtime"
	"harness/runtime/acp"
	"harness/runtime/runtimetest"
)

// The MCP servers that the settings of a workspace name are not started by the real Gemini CLI, whatever else they say;
// they are listed. RA-16
func TestWhatGeminiReadsByItself(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	model := mockmodel.Start(t)
	site := newSite(t, model, acp.Gemini(), false, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
	site.options.Bin = agenttest.Binary(t, "gemini")
	agent := site.start(t, store)
	settings, server := filepath.Join(site.dir, ".gemini", "settings.json"), filepath.Join(site.dir, "server")
	if err := errors.Join(os.Mkdir(filepath.Dir(settings), 0o700),
		os.WriteFile(settings,
			[]byte(`{"mcpServers":{"own":{"command":"touch","args":["`+server+`"]}},"mcp":{"allowed":["own"]}}`),
			0o600)); err != nil {
		t.Fatal(err)
	}
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: site.dir, ApprovalPolicy: "on-request",
		Sandbox: "danger-full-access"})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := agent.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[x]")})
	if err != nil {
		t.Fatal(err)
	}
	store.End(t, turn.TurnID)
	if _, err := os.Stat(server); err == nil {
		t.Error("the workspace started its server")
	}
	found, err := agent.Adapter.(runtime.Sourcer).Sources(thread.ID, site.dir, runtime.ImplicitAll)
	if err != nil || len(found) != 2 || found[0].Scope != runtime.SourceOfHome || found[1].Path != settings ||
		len(found[1].SHA256) != 64 {
		t.Errorf("it is said to read %+v, %v", found, err)
	}
	if none, err := acp.New(acp.Options{Profile: acp.ClaudeBridge()}).Sources("", site.dir, ""); err != nil ||
		len(none) != 0 {
		t.Errorf("an agent nobody knows that of reads %v, %v", none, err)
	}
}
