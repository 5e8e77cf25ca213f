package clients

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"harness/tests/programtest"
)

// RA-04: a program written for codesdkd starts the server with that daemon's flags and appends its paths to the
// printed URL. Paths with and without /v1 get the same responses. A browser that opens the URL gets the console.
// Configuration of a runtime is refused with a list. SIGINT ends the server with exit code 130.
func TestCodesdkdServesUnchangedPrograms(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server, _ := codesdkd(s, "--data-dir", s.DataDir, "--workspace-root", s.Workspace, "--host", "127.0.0.1", "--port", "0",
		"--runtimes", "codex-sdk", "--default-runtime", "codex-sdk", "--default-permission-mode", "ask")
	server.WaitRuntime()
	made := server.Want(http.StatusCreated, http.MethodPost, "/sessions", programtest.Object{"permissionMode": "ask"})
	session := programtest.Text(made, "session_id")
	for _, path := range []string{"", "/capabilities", "/capabilities?runtime=codex-sdk", "/auth/status", "/sessions?limit=5",
		"/sessions/" + session, "/sessions/" + session + "/events?after_seq=0", "/sessions/" + session + "/tasks"} {
		below := server.Want(http.StatusOK, http.MethodGet, "/v1"+path, nil)
		if path == "" {
			path = "/"
		}
		if at := server.Want(http.StatusOK, http.MethodGet, path, nil); !reflect.DeepEqual(at, below) {
			t.Errorf("%s is answered %v, below /v1 %v", path, at, below)
		}
	}
	for _, path := range []string{"/sessions/none", "/artifacts/none", "/sessions/" + session + "/tasks/none"} {
		at, _ := server.Call(http.MethodGet, path, nil)
		below, _ := server.Call(http.MethodGet, "/v1"+path, nil)
		if at != http.StatusNotFound || at != below {
			t.Errorf("%s is answered %d, below /v1 %d", path, at, below)
		}
	}
	if _, page := server.Ask(http.MethodGet, "/", map[string]string{"Accept": "text/html"}); json.Valid([]byte(page)) {
		t.Errorf("a browser is shown %s", page)
	}
	for _, path := range []string{"/sessions", "/sessions/" + session + "/tasks"} {
		refused := server.Want(http.StatusBadRequest, http.MethodPost, path, programtest.Object{"messages": []any{},
			"runtimeConfig": programtest.Object{"sandboxMode": "read-only", "apiKey": "k"}})
		if path == "/sessions" {
			continue // messages are not part of a session
		}
		if !reflect.DeepEqual(refused["refused"], []any{"apiKey", "sandboxMode"}) || refused["supported"] == nil {
			t.Errorf("%s refuses with %v", path, refused)
		}
	}
	refused := server.Want(http.StatusBadRequest, http.MethodPost, "/sessions", programtest.Object{"runtimeConfig": programtest.Object{"a": 1}})
	if !reflect.DeepEqual(refused["refused"], []any{"a"}) {
		t.Errorf("a session is refused with %v", refused)
	}
	server.Want(http.StatusCreated, http.MethodPost, "/sessions", programtest.Object{"runtimeConfig": programtest.Object{}})
	if err := server.Cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Exited:
		if code := server.Cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("SIGINT ends it with %d", code)
		}
	case <-time.After(programtest.Patience):
		t.Fatal("it does not stop")
	}
}

// Invalid flags end it with exit code 1, and print the reason and the usage on stderr.
func TestCodesdkdRefusesFlagsAsTheDaemonDoes(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent())
	for _, args := range [][]string{{}, {"--data-dir", ""}, {"--nope"}, {"--data-dir", s.DataDir, "--port", "many"},
		{"--data-dir", s.DataDir, "--default-permission-mode", "maybe"}, {"--data-dir", s.DataDir, "further"}} {
		if code, said := s.Command(append([]string{"codesdkd"}, args...)...); code != 1 || !strings.Contains(said, "--data-dir") ||
			!strings.Contains(said, "harness:") {
			t.Errorf("codesdkd %v ended with %d: %s", args, code, said)
		}
	}
}
