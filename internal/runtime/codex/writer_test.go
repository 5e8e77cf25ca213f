package codex_test

import (
	"errors"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/tests/codextest"
)

// If another codex still has a conversation open, the adapter loads it as soon as that codex releases it.
func TestAConversationIsLoadedWhenItsWriterHasGone(t *testing.T) {
	t.Parallel()
	before := setup(t, codextest.Default)
	thread, err := before.codex.StartThread(t.Context(), runtime.StartThread{Cwd: before.cwd})
	if err != nil {
		t.Fatal(err)
	}
	message := runtime.StartTurn{ThreadID: thread.ID, Input: text("MOCK_REPLY[again]"), Continues: true}
	started, err := before.codex.StartTurn(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	before.completed(t, started.TurnID)

	after := setupWith(t, codextest.Default, func(o *codex.Options) { // another server's, which does not end this one's
		o.Home, o.Setup.Launch.Marker, o.Setup.Launch.Env = before.home, process.Marker(t.TempDir(), "codex"), []string{"HOME=" + before.home}
	})
	if _, err := after.codex.Models(t.Context()); err != nil { // it is ready
		t.Fatal(err)
	}
	resumed := make(chan error, 1)
	go func() {
		_, err := after.codex.ResumeThread(t.Context(), runtime.ResumeThread{ThreadID: thread.ID})
		resumed <- err
	}()
	select {
	case err := <-resumed:
		t.Fatalf("while it is open elsewhere: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	stop(t, before.codex)
	if err := <-resumed; err != nil {
		t.Error(err)
	}
}

// A conversation that codex does not find for a moment, having just unloaded it, is loaded once codex finds it. One
// that it never stored is missing at once.
func TestAConversationThatCodexDoesNotFindForAMoment(t *testing.T) {
	t.Parallel()
	b := misbehaving(t, "unfound", nil)
	resume := func() error {
		_, err := b.codex.ResumeThread(t.Context(), runtime.ResumeThread{ThreadID: "t1"})
		return err
	}
	if err := resume(); !errors.Is(err, runtime.ErrThreadNotFound) {
		t.Errorf("one that is not known to be stored: %v", err)
	}
	if err := errors.Join(resume(), resume()); err != nil { // the second is not found once
		t.Errorf("one that is stored: %v", err)
	}
}
