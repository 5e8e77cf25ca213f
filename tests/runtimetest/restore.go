package runtimetest

import (
	"errors"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// Restores checks that an adapter resumes a lost conversation if it gets the earlier history, and refuses it without.
// lose ends the agent's process and removes its data of the conversation. seen returns the last request to the model
// that contains a text. Both fail the test when there is nothing.
func Restores(t *testing.T, store *Store, agent *Agent, reply func(text string) string, lose func(nativeID string),
	seen func(text string) string) {
	t.Helper()
	if !agent.Capabilities().Reconstruct {
		t.Fatal("it does not say that it can")
	}
	sandboxes := agent.Capabilities().Sandboxes
	made, err := agent.StartThread(t.Context(), runtime.StartThread{SessionID: "5e551011-0000-4000-8000-000000000001",
		Cwd: agent.Dir, ApprovalPolicy: "untrusted", Sandbox: sandboxes[len(sandboxes)-1], NetworkAccess: "enabled"})
	if err != nil {
		t.Fatal(err)
	}
	say := func(text, history string) (runtime.StartedTurn, error) {
		return agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: made.ID, NativeID: made.NativeID, Cwd: agent.Dir,
			Continues: true, History: history, Input: Text(reply(text))})
	}
	done := func(turn string) {
		t.Helper()
		if end := store.End(t, turn); end.Status != runtime.TurnDone {
			t.Fatalf("a turn ended %+v", end)
		}
	}
	first, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: made.ID, NativeID: made.NativeID,
		Cwd: agent.Dir, Input: Text(reply("one"))})
	if err != nil {
		t.Fatal(err)
	}
	done(first.TurnID)
	lose(made.Native())
	if _, err := say("nothing", ""); !errors.Is(err, runtime.ErrThreadNotFound) {
		t.Fatalf("a message to a conversation that is lost: %v", err)
	}
	const before = "the word of before is PERIWINKLE"
	again, err := say("two", before)
	if err != nil {
		t.Fatal(err)
	}
	done(again.TurnID)
	if request := seen(reply("two")); !strings.Contains(request, before) {
		t.Errorf("the model was asked %.3000s", request)
	}
	for _, signal := range store.Signals() {
		change, item := signal.Change.(runtime.ItemChanged)
		if item && change.TurnID == again.TurnID && change.Item.Role == "user" && change.Done &&
			contentOf(change.Item) != reply("two") {
			t.Errorf("the message shows as %q", contentOf(change.Item))
		}
	}
	if again.NativeID != "" {
		made.NativeID = again.NativeID
	}
	third, err := say("three", "")
	if err != nil {
		t.Fatal(err)
	}
	done(third.TurnID)
	if request := seen(reply("three")); !strings.Contains(request, before) || !strings.Contains(request, reply("two")) {
		t.Errorf("after that the model was asked %.3000s", request)
	}
}
