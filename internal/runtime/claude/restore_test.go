package claude_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/runtimetest"
)

// SE-02: a conversation without its history does not restart empty. It continues when Claude Code gets the earlier
// messages.
func TestLostConversationIsRestarted(t *testing.T) {
	t.Parallel()
	store := runtimetest.NewStore()
	g := newRig(t, store, false)
	agent := g.start(t)
	runtimetest.Restores(t, store, agent, func(text string) string { return fmt.Sprintf("MOCK_REPLY[%s]", text) },
		func(native string) {
			t.Helper()
			if err := agent.CloseThread(t.Context(), native); err != nil {
				t.Fatal(err)
			}
			store.Exited(t, native)
			found, err := filepath.Glob(filepath.Join(g.setup.Home.Dir, "*", "projects", "*", native+".jsonl"))
			if more, again := filepath.Glob(filepath.Join(g.setup.Home.Dir, "projects", "*", native+".jsonl")); again == nil {
				found = append(found, more...)
			}
			if err != nil || len(found) == 0 {
				t.Fatalf("there is no history of %s: %v", native, err)
			}
			for _, path := range found {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}, g.model.Asked)
}
