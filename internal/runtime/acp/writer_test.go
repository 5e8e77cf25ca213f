package acp_test

import (
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// If the codex of a dead bridge still has a conversation open, the adapter loads it as soon as that codex releases
// it.
func TestAConversationIsLoadedWhenItsWriterHasGone(t *testing.T) {
	t.Parallel()
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	s := codexBridge(t, model, false)
	before := s.start(t, store)
	thread, err := before.StartThread(t.Context(), runtime.StartThread{Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	again := runtime.StartTurn{ThreadID: thread.ID, NativeID: thread.NativeID, Cwd: s.dir, Input: runtimetest.Text("MOCK_REPLY[again]")}
	first, err := before.StartTurn(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	store.End(t, first.TurnID)

	other := *s // like another server's, which does not end the processes of this one
	other.options.Setup.Launch.Marker = process.Marker(t.TempDir(), "other")
	next := runtimetest.NewStore()
	after := other.start(t, next)
	if _, err := after.Models(t.Context()); err != nil { // it is ready
		t.Fatal(err)
	}
	begun := make(chan error, 1)
	var second runtime.StartedTurn
	go func() {
		var err error
		second, err = after.StartTurn(t.Context(), again)
		begun <- err
	}()
	select {
	case err := <-begun:
		t.Fatalf("while it is open elsewhere: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	before.Kill(t, thread.ID) // its codex exits with it, some time later
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	if end := next.End(t, second.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
}
