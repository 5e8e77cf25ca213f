package acp_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// Gemini CLI uses its models at Vertex AI when its environment selects that, even if it also has a key of the other
// kind. It uses the server's settings only in folders of root that no other user may write to.
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

// rootsHome returns a folder below no folder that others may write to, unlike t.TempDir.
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

// RA-08: Gemini CLI finds a key and a login with OAuth, in the environment and in its home, and distinguishes them.
// Without both, the remedy names both ways.
func TestGeminiCredentialsAreDistinguished(t *testing.T) {
	t.Parallel()
	loggedIn := t.TempDir()
	plant(t, filepath.Join(loggedIn, ".gemini", "oauth_creds.json"), `{"refresh_token":"1//secret"}`)
	key := "GEMINI_API_KEY=test"
	for want, env := range map[string][]string{
		"missing":            {"HOME=" + t.TempDir()},
		"found apiKey":       {"HOME=" + t.TempDir(), key},
		"found login":        {"HOME=" + loggedIn},
		"found apiKey login": {"HOME=" + loggedIn, key},
	} {
		launch := stdio.Launch{Name: "gemini", Env: env, Inherits: func(string) bool { return false }}
		adapter := acp.New(acp.Options{Profile: acp.Gemini(), Setup: stdio.Setup{Launch: launch}})
		status, err := adapter.Auth(t.Context())
		got := strings.Join(append([]string{string(status.State)}, status.Credentials...), " ")
		if err != nil || got != want || (want == "missing") != (status.Remedy != "") {
			t.Errorf("got %+v, %v, want %s", status, err, want)
		}
		if want == "missing" && (!strings.Contains(status.Remedy, "GEMINI_API_KEY") || !strings.Contains(status.Remedy, "sign in")) {
			t.Errorf("what to do is %q", status.Remedy)
		}
		if adapter.Capabilities().Facts.Auth != runtime.AuthBoth {
			t.Errorf("its facts say %q", adapter.Capabilities().Facts.Auth)
		}
	}
}
