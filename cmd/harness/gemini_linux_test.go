package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/dbtest"
	"harness/runtime/process"
)

// A session of Gemini CLI over REST: the server is killed while its turn waits for an approval, the next one goes on
// with the same process, and the answer ends the turn once. A level it does not enforce is refused, and the keys it was
// given reach it alone.
func TestAGeminiTurnOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			const key = "planted-gemini-key"
			s := newSite(t, withEngine(engine), withEnv("HARNESS_RUNTIMES=codex,gemini", "GEMINI_BIN="+agenttest.Binary(t, "gemini"), "GEMINI_API_KEY="+key))
			s.env = append(s.env, "GOOGLE_GEMINI_BASE_URL="+s.model.Root())
			server := s.start()
			refused := server.want(http.StatusBadRequest, http.MethodPost, "/api/sessions",
				object{"runtime": "gemini", "filesystemSandbox": "read-only"})
			if !strings.Contains(fmt.Sprint(refused), "danger-full-access") {
				t.Errorf("a level it does not enforce: %v", refused)
			}
			session := server.createSession(object{"runtime": "gemini", "approvalPolicy": "untrusted", "networkAccess": "enabled"})
			file := filepath.Join(s.workspace, "made.txt")
			first := func(*instance) string { return fmt.Sprint(s.runtimeProcesses("gemini")[0]) }
			server, _ = s.requireOutlives(server, session, first, func(approval object) {
				if !strings.Contains(fmt.Sprint(approval), file) {
					t.Errorf("asked %v", approval)
				}
				requireKeyOnlyIn(t, key, s.runtimeProcesses("gemini"), s.runtimeProcesses("codex"))
			})
			var shown []string
			for _, entry := range server.transcript(session) {
				shown = append(shown, fmt.Sprintf("%v: %v", entry["type"], entry["content"]))
			}
			for _, want := range []string{"commandExecution: Command execution completed: touch " + file, "agentMessage: still here"} {
				if !slices.Contains(shown, want) {
					t.Errorf("the transcript lacks %q: %q", want, shown)
				}
			}
			server.stop()
			s.requireNoOrphans()
			s.foldJournal(session) // gap-free
			if strings.Contains(server.logTail(), key) {
				t.Error("the key is in the log")
			}
		})
	}
}

// runtimeProcesses are the living processes of a runtime and what they started.
func (s *site) runtimeProcesses(runtime string) []int {
	s.t.Helper()
	pids, err := process.Marked(process.Mark(s.dataDir, runtime))
	if err != nil || len(pids) == 0 {
		s.t.Fatalf("no process of %s: %v", runtime, err)
	}
	slices.Sort(pids)
	return pids
}

// requireKeyOnlyIn checks that a secret is in the environment of some processes, not in that of others, and in no command line.
func requireKeyOnlyIn(t *testing.T, key string, with, without []int) {
	t.Helper()
	read := func(pid int, file string) []byte {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Error(err)
		}
		return raw
	}
	for _, pid := range with {
		if !bytes.Contains(read(pid, "environ"), []byte(key)) {
			t.Errorf("process %d has no key: %s", pid, read(pid, "cmdline"))
		}
	}
	for _, pid := range without {
		if bytes.Contains(read(pid, "environ"), []byte(key)) {
			t.Errorf("process %d has a key that is not its: %s", pid, read(pid, "cmdline"))
		}
	}
	for _, pid := range append(with, without...) {
		if bytes.Contains(read(pid, "cmdline"), []byte(key)) {
			t.Errorf("the key is in the command line of process %d", pid)
		}
	}
}
