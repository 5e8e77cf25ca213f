package acp_test

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// The bridge of Claude Code sends a form for a question with several answers.
func TestABridgeAsksForSeveralAnswers(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	agent := claudeBridge(t, model, false).start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir, ApprovalPolicy: "untrusted"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(),
		runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_ASK_SEVERAL")})
	if err != nil {
		t.Fatal(err)
	}
	asked := store.Asked(t, started.TurnID, runtime.RequestToolInput)
	reply := runtimetest.ChooseSeveral(t, asked, "a, b", `"c"`)
	if err := agent.Answer(t.Context(), runtimetest.Ref(asked), reply); err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, started.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn that asked ended %+v", end)
	}
	if !slices.ContainsFunc(model.Outputs(), func(o mockmodel.Output) bool {
		return strings.Contains(o.Text, `"a, b", "\"c\""`)
	}) {
		t.Errorf("the model knows %v", model.Outputs())
	}
}
