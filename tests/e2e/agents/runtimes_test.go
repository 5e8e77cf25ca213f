package agents

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/tests/programtest"
)

// Sessions name their runtime, clients may choose it when they open a session, and health lists all of them.
func TestTheRuntimesOfAServer(t *testing.T) {
	t.Parallel()
	server := programtest.New(t).Start()
	session := server.CreateSession(programtest.Object{"runtime": "codex"})
	other := server.CreateSession(programtest.Object{})
	for query, want := range map[string]int{"": 2, "?runtime=codex": 2, "?runtime=codex&limit=1": 1} {
		listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions"+query, nil)["data"].([]any)
		if len(listed) != want || programtest.Text(listed[0], "runtime") != "codex" {
			t.Errorf("%q lists %v", query, listed)
		}
	}
	if read := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil); programtest.Text(read, "session",
		"runtime") != "codex" || session == other {
		t.Errorf("read %v", read)
	}
	for method, path := range map[string]string{http.MethodPost: "/api/sessions",
		http.MethodGet: "/api/sessions?runtime=cohdex"} {
		var body any
		if method == http.MethodPost {
			body = programtest.Object{"runtime": "cohdex"}
		}
		refused, _ := json.Marshal(server.Want(http.StatusBadRequest, method, path, body))
		if !strings.Contains(string(refused), `it has codex`) || !strings.Contains(string(refused), `"runtime"`) {
			t.Errorf("%s %s: %s", method, path, refused)
		}
	}
	health := server.Want(http.StatusOK, http.MethodGet, "/api/health", nil)
	runtimes := health["runtimes"].([]any)
	if len(runtimes) != 1 || programtest.Text(runtimes[0], "name") != "codex" || programtest.Text(runtimes[0], "default") != "true" ||
		programtest.Text(runtimes[0], "state") != "ready" {
		t.Errorf("health has %v", runtimes)
	}
	processes := runtimes[0].(programtest.Object)["processes"].([]any)
	if len(processes) != 1 || programtest.Text(processes[0], "pid") != programtest.Text(health, "codex", "pid") ||
		programtest.Text(processes[0], "shim", "pid") == "" {
		t.Errorf("health has the processes %v", processes)
	}
}

// The next server ends a runtime that outlived its server and is not in its configuration, along with its turns,
// because no server would read its output.
func TestARuntimeThatIsNotConfiguredAnyMore(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("after=0")
	turn := server.Send(session, "MOCK_CMD[true]")
	events.WaitType("approval")
	server.Kill()
	found, err := shim.Discover(s.RunDir())
	if err != nil || len(found) != 1 || !found[0].Alive {
		t.Fatalf("found %+v, %v", found, err)
	}
	state := found[0].State
	state.Runtime = "former"
	raw, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(found[0].Dir, "state.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	server = s.Start()
	if left, err := process.Carrying(shim.GenerationVariable + "=" + found[0].Generation); err != nil || len(left) != 0 {
		t.Errorf("%v of it are left, %v", left, err)
	}
	if status := server.Follow("after=0").WaitTurn(turn); status != "interrupted" {
		t.Errorf("its turn is %s", status)
	}
	if log := server.LogTail(); !strings.Contains(log, "that this server does not run (HARNESS_RUNTIMES") || !strings.Contains(log, `"former"`) {
		t.Errorf("the log does not report it: %s", log)
	}
	server.WaitRuntime()
	events = server.Follow("")
	if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn is %s", status)
	}
}
