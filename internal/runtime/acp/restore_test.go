package acp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime/acp"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// SE-02: a conversation without Gemini's files continues in a new one, which gets the earlier messages.
func TestLostConversationIsRestarted(t *testing.T) {
	t.Parallel()
	model := mockmodel.Start(t)
	s := newSite(t, model, acp.Gemini(), false, "GEMINI_API_KEY=test", "GOOGLE_GEMINI_BASE_URL="+model.Root())
	s.options.Bin = agenttest.Binary(t, "gemini")
	store := runtimetest.NewStore()
	agent := s.start(t, store)
	runtimetest.Restores(t, store, agent, script().Reply, func(string) {
		t.Helper()
		agent.Kill(t, "")
		store.Exited(t, "")
		removed := 0
		err := filepath.WalkDir(filepath.Join(s.home, ".gemini", "tmp"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && strings.HasPrefix(e.Name(), "session-") {
				removed++
				err = os.Remove(path)
			}
			return err
		})
		if err != nil || removed == 0 {
			t.Fatalf("%d files are removed: %v", removed, err)
		}
	}, model.Asked)
}
