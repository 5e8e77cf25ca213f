package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/wire"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// A call that Gemini's own policy refuses appears as declined, without a request. The events of the task API report
// that the runtime decided. RA-22
func TestWhatGeminisPolicyRefusesIsDeclined(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	s := newSite(t, model, acp.Gemini(), false, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
	s.options.Bin = agenttest.Binary(t, "gemini")
	plant(t, filepath.Join(s.home, ".gemini", "policies", "own.toml"),
		"[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 500\n")
	agent := s.start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: s.dir, ApprovalPolicy: "untrusted"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID,
		Input: runtimetest.Text("MOCK_CMD[touch " + filepath.Join(s.dir, "made") + "]")})
	if err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, started.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	calls := 0
	for _, signal := range store.Signals() {
		switch change := signal.Change.(type) {
		case runtime.ItemChanged:
			if change.Item.Type != wire.ItemCommand || !change.Done {
				continue
			}
			if calls++; !strings.Contains(string(signal.Raw), `"status":"`+wire.StatusDeclined+`"`) ||
				!strings.Contains(string(signal.Raw), "denied by policy") {
				t.Errorf("it is shown as %s", signal.Raw)
			}
		case runtime.InteractiveRequested:
			t.Errorf("an approval is requested: %s", signal.Raw)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls are shown", calls)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
		t.Error("it ran")
	}
}
