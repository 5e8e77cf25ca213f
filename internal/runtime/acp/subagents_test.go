package acp_test

import (
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// OpenCode does not pass on the requests of its sub-agents to clients of this protocol. The adapter offers no
// sub-agents, so that no turn waits for an answer that cannot come. If a model calls one anyway, the call is refused
// and the turn ends.
func TestOpenCodeOffersNoSubAgents(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	agent := openCode(t, model, false).start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir, ApprovalPolicy: "untrusted"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text(
		`MOCK_CALL[task|{"description":"a task","prompt":"MOCK_CMD[touch x]","subagent_type":"general"}]END`)})
	if err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, started.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
	for _, request := range model.Requests() {
		if slices.Contains(request.Tools, "task") {
			t.Error("the model is offered sub-agents")
		}
	}
}

// The bridge of Claude Code does not report that it cleared a conversation, so the adapter publishes an item.
func TestBridgeReportsClearedConversation(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	agent := claudeBridge(t, model, false).start(t, store)
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: agent.Dir, ApprovalPolicy: "untrusted"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"MOCK_REPLY[the blue word]", "/clear", "MOCK_REPLY[again]"} {
		started, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		if end := store.End(t, started.TurnID); end.Status != runtime.TurnDone {
			t.Errorf("%s ended %+v", text, end)
		}
		cleared := slices.ContainsFunc(store.Signals(), func(signal runtime.Signal) bool {
			change, is := signal.Change.(runtime.ItemChanged)
			return is && change.Done && signal.TurnID == started.TurnID && change.Item.Type == wire.ItemCleared
		})
		if cleared != (text == "/clear") {
			t.Errorf("%s: the transcript says that it was cleared: %t", text, cleared)
		}
	}
	requests := model.Requests()
	if last := string(requests[len(requests)-1].Body); strings.Contains(last, "the blue word") {
		t.Error("the model gets what was cleared")
	}
}
