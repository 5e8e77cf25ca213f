package acp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	discovered := filepath.Join(site.dir, "discovered")
	if err := errors.Join(os.Mkdir(filepath.Dir(settings), 0o700),
		os.WriteFile(filepath.Join(site.dir, "SAID.md"), []byte("word-of-the-workspace"), 0o600),
		os.WriteFile(settings, []byte(`{"mcpServers":{"own":{"command":"touch","args":["`+server+`"]}},"mcp":{"allowed":["own"]},
			"context":{"fileName":"SAID.md"},"tools":{"discoveryCommand":"touch `+discovered+`","callCommand":"cat"},
			"hooksConfig":{"enabled":true},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch `+discovered+`"}]}]}}`),
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
	if _, err := os.Stat(discovered); err == nil {
		t.Error("settings of the workspace ran a program")
	}
	if sent := fmt.Sprintf("%+v", model.Requests()); !strings.Contains(sent, "MOCK_REPLY[x]") || strings.Contains(sent, "word-of-the-workspace") {
		t.Errorf("the model was sent what the workspace says of itself, or nothing: %.2000s", sent)
	}
	found, err := agent.Adapter.(runtime.Sourcer).Sources(thread.ID, site.dir, runtime.ImplicitHome)
	if err != nil || len(found) != 1 || found[0].Scope != runtime.SourceOfHome || len(found[0].SHA256) != 64 {
		t.Errorf("it is said to read %+v, %v", found, err)
	}
	if none, err := acp.New(acp.Options{Profile: acp.ClaudeBridge()}).Sources("", site.dir, ""); err != nil ||
		len(none) != 0 {
		t.Errorf("an agent nobody knows that of reads %v, %v", none, err)
	}
}
