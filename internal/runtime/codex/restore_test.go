package codex_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime"
	"harness/tests/codextest"
)

// forget removes codex's files of a conversation, and ends the codex that has it in memory.
func (b *bundle) forget(t *testing.T, thread string) {
	t.Helper()
	removed := 0
	err := filepath.WalkDir(filepath.Join(b.home, "sessions"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Contains(filepath.Base(path), thread) {
			removed++
			err = os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		t.Fatalf("removed %d files of %s: %v", removed, thread, err)
	}
	b.end(t)
}

// end kills codex and waits for the next one.
func (b *bundle) end(t *testing.T) {
	t.Helper()
	before := b.codex.Status()
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.exited(t, before.Generation)
	seen := map[string]bool{before.Generation: true}
	for _, s := range b.all() {
		if s.Kind == runtime.SignalExited {
			seen[s.Generation] = true
		}
	}
	b.wait(t, "the next codex", func(s runtime.Signal) bool { return s.Kind == runtime.SignalStarted && !seen[s.Generation] })
}

// SE-02: codex refuses a conversation without its file. It continues when codex gets the earlier messages. After that
// it is known again, also to the next codex.
func TestLostConversationIsRestarted(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		b := setup(t, version)
		thread := b.thread(t, runtime.StartThread{})
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread}, "MOCK_REPLY[the first answer]"))
		b.forget(t, thread)

		lost := runtime.StartTurn{ThreadID: thread, Cwd: b.cwd, Continues: true, Input: text("MOCK_REPLY[nothing]")}
		if _, err := b.codex.StartTurn(t.Context(), lost); !errors.Is(err, runtime.ErrThreadNotFound) {
			t.Fatalf("a message to a lost conversation: %v", err)
		}
		const before = "earlier the word was PERIWINKLE"
		turn := b.turn(t, runtime.StartTurn{ThreadID: thread, Cwd: b.cwd, Continues: true, History: before},
			"MOCK_REPLY[the second answer]")
		if done := b.completed(t, turn); done.Status != runtime.TurnDone {
			t.Fatalf("the turn ended %+v", done)
		}
		if got := b.item(t, turn, "userMessage").Content; got != "MOCK_REPLY[the second answer]" {
			t.Errorf("the message shows as %q", got)
		}
		if seen := b.model.Asked("the second answer"); !strings.Contains(seen, before) {
			t.Errorf("the model did not get the earlier messages: %.2000s", seen)
		}
		b.end(t)
		b.completed(t, b.turn(t, runtime.StartTurn{ThreadID: thread, Continues: true}, "MOCK_REPLY[the third answer]"))
		if seen := b.model.Asked("the third answer"); !strings.Contains(seen, before) || !strings.Contains(seen,
			"the second answer") {
			t.Errorf("the next codex does not know what was said: %.2000s", seen)
		}
		read, err := b.codex.ReadThread(t.Context(), thread, true)
		if err != nil || len(read.Turns) != 2 {
			t.Errorf("the conversation has %d turns, %v", len(read.Turns), err)
		}
	})
}
