package acp_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// The real Gemini CLI does not start MCP servers from the settings of a workspace, with any other settings there; it
// lists them. RA-16
func TestGeminiSources(t *testing.T) {
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
		os.WriteFile(settings,
			[]byte(`{"mcpServers":{"own":{"command":"touch","args":["`+server+`"]}},"mcp":{"allowed":["own"]},
			"context":{"fileName":"SAID.md"},"tools":{"discoveryCommand":"touch `+discovered+`","callCommand":"cat"},
			"hooksConfig":{"enabled":true},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch `+discovered+
				`"}]}]}}`),
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
	if sent := fmt.Sprintf("%+v", model.Requests()); !strings.Contains(sent, "MOCK_REPLY[x]") ||
		strings.Contains(sent, "word-of-the-workspace") {
		t.Errorf("the model was sent what the workspace says of itself, or nothing: %.2000s", sent)
	}
	found, err := agent.Adapter.(runtime.Sourcer).Sources(thread.ID, site.dir, runtime.ImplicitHome)
	if err != nil || len(found) != 1 || found[0].Scope != runtime.SourceOfHome || len(found[0].SHA256) != 64 {
		t.Errorf("it is said to read %+v, %v", found, err)
	}
}

// The sources of an agent of the operator are unknown, except for the files that its configuration names. RA-16
func TestConfiguredAgentSources(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	cwd := filepath.Join(project, "inner")
	for _, file := range []string{filepath.Join(home, "own.json"), filepath.Join(project, ".git", "HEAD"),
		filepath.Join(project, "RULES.md"), filepath.Join(cwd, "RULES.md")} {
		plant(t, file, "words of its own")
	}
	for configuration, want := range map[string]string{
		`{"own":"agent"}`: "",
		`{"own":{"command":["agent"],"reads":["$HOME/own.json","${NO_SUCH:-$HOME/none}/x","$NO_SUCH/own.json",` +
			`"{project}/RULES.md"]}}`: "home settings own.json, " +
			"folder instructions RULES.md, folder instructions inner/RULES.md",
		`{"own":{"command":["agent"],"reads":["{cwd}/RULES.md"]}}`: "folder instructions inner/RULES.md",
	} {
		profiles, err := acp.Configured(configuration)
		if err != nil {
			t.Fatal(err)
		}
		r := acp.New(acp.Options{Profile: profiles[0], Setup: stdio.Setup{Launch: stdio.Launch{Env: []string{"HOME=" + home},
			Inherits: func(string) bool { return false }}}})
		found, err := r.Sources("", cwd, "")
		if err != nil || r.Capabilities().ImplicitSources != nil {
			t.Errorf("%s: %v, %v", configuration, r.Capabilities().ImplicitSources, err)
		}
		var listed []string
		for _, one := range found {
			path := strings.TrimPrefix(strings.TrimPrefix(one.Path, home+"/"), project+"/")
			if listed = append(listed, one.Scope+" "+one.Kind+" "+path); len(one.SHA256) != 64 {
				t.Errorf("%+v has no hash", one)
			}
		}
		if got := strings.Join(listed, ", "); got != want {
			t.Errorf("%s: it is said to read %s", configuration, got)
		}
	}
	if _, err := acp.Configured(`{"own":{"command":["agent"],"reads":["own.json"]}}`); err == nil ||
		!strings.Contains(err.Error(), "from the root") {
		t.Errorf("a file from nowhere: %v", err)
	}
}

// bodies returns the bodies of all requests to a model.
func bodies(model *mockmodel.Server) (all []byte) {
	for _, request := range model.Requests() {
		all = append(all, request.Body...)
	}
	return all
}

func plant(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
