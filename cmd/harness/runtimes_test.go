package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/runtime/process"
	"harness/runtime/process/shim"
)

// Sessions name their runtime, who opens one may choose it, and health knows them all.
func TestTheRuntimesOfAServer(t *testing.T) {
	t.Parallel()
	server := newSite(t).start()
	session := server.createSession(object{"runtime": "codex"})
	other := server.createSession(object{})
	for query, want := range map[string]int{"": 2, "?runtime=codex": 2, "?runtime=codex&limit=1": 1} {
		listed := server.want(http.StatusOK, http.MethodGet, "/api/sessions"+query, nil)["data"].([]any)
		if len(listed) != want || text(listed[0], "runtime") != "codex" {
			t.Errorf("%q lists %v", query, listed)
		}
	}
	if read := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil); text(read, "session",
		"runtime") != "codex" || session == other {
		t.Errorf("read %v", read)
	}
	for method, path := range map[string]string{http.MethodPost: "/api/sessions",
		http.MethodGet: "/api/sessions?runtime=cohdex"} {
		var body any
		if method == http.MethodPost {
			body = object{"runtime": "cohdex"}
		}
		refused, _ := json.Marshal(server.want(http.StatusBadRequest, method, path, body))
		if !strings.Contains(string(refused), `it has codex`) || !strings.Contains(string(refused), `"runtime"`) {
			t.Errorf("%s %s: %s", method, path, refused)
		}
	}
	health := server.want(http.StatusOK, http.MethodGet, "/api/health", nil)
	runtimes := health["runtimes"].([]any)
	if len(runtimes) != 1 || text(runtimes[0], "name") != "codex" || text(runtimes[0], "default") != "true" ||
		text(runtimes[0], "state") != "ready" {
		t.Errorf("health tells of %v", runtimes)
	}
	processes := runtimes[0].(object)["processes"].([]any)
	if len(processes) != 1 || text(processes[0], "pid") != text(health, "codex", "pid") ||
		text(processes[0], "shim", "pid") == "" {
		t.Errorf("health tells of processes %v", processes)
	}
}

// A runtime that outlived its server and is not one of the next one's is ended, and its turns with it: nobody would
// hear it.
func TestARuntimeThatIsNotConfiguredAnyMore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	events := server.follow("after=0")
	turn := server.send(session, "MOCK_CMD[true]")
	events.waitType("approval")
	server.kill()
	found, err := shim.Discover(runDir(s.dataDir))
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

	server = s.start()
	if left, err := process.Carrying(shim.GenerationVariable + "=" + found[0].Generation); err != nil || len(left) != 0 {
		t.Errorf("%v of it are left, %v", left, err)
	}
	if status := server.follow("after=0").waitTurn(turn); status != "interrupted" {
		t.Errorf("its turn is %s", status)
	}
	if log := server.logTail(); !strings.Contains(log, "none of HARNESS_RUNTIMES") || !strings.Contains(log, `"former"`) {
		t.Errorf("the log does not tell of it: %s", log)
	}
	server.waitRuntime()
	events = server.follow("")
	if status := events.waitTurn(server.send(session, "MOCK_REPLY[again]")); status != "completed" {
		t.Errorf("the next turn is %s", status)
	}
}
