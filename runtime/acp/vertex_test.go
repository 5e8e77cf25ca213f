package acp_test

import (
	"errors"
	"os"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/mockmodel"
	"harness/runtime"
	"harness/runtime/acp"
	"harness/runtime/runtimetest"
)

// Gemini CLI reaches its models at Vertex AI when its environment chooses that, also beside a key of the other kind. It
// follows the server's settings only in folders of root that nobody else may write to.
func TestGeminiAtVertexAI(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("the server is not root's, so Gemini CLI skips its settings: nothing to show")
		return
	}
	home := rootsHome(t)
	store, model := runtimetest.NewStore(), mockmodel.Start(t)
	s := newSite(t, model, acp.Gemini(), false, "GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_API_KEY=test",
		"GOOGLE_VERTEX_BASE_URL="+model.Root(), "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9")
	s.options.Setup.Launch.Env[0] = "HOME=" + home
	s.options.Bin = agenttest.Binary(t, "gemini")
	agent := s.start(t, store)
	auth, err := agent.Auth(t.Context())
	if err != nil || auth.State != runtime.AuthFound || auth.Credentials[0] != runtime.CredentialCloud {
		t.Errorf("its credentials are %+v, %v", auth, err)
	}
	thread, err := agent.StartThread(t.Context(), runtime.StartThread{Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text("MOCK_REPLY[from the cloud]")})
	if err != nil {
		t.Fatal(err)
	}
	if end := store.End(t, turn.TurnID); end.Status != runtime.TurnDone {
		t.Errorf("the turn ended %+v", end)
	}
}

// rootsHome is a folder below no folder that others may write to, as t.TempDir is.
func rootsHome(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o700)
	}
	home, making := os.MkdirTemp(cache, "harness-vertex-") //nolint:usetesting // others may write above t.TempDir
	if err := errors.Join(err, making); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return home
}
