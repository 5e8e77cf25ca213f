package agents

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// sayRetries returns the runtimes whose agents report retries. Gemini and OpenCode over ACP do not.
func sayRetries() []string { return []string{"codex", "claude", "opencode", "claude-acp", "codex-acp"} }

// withRetries makes a site of those runtimes, with a codex that retries often enough to reach its model again.
func withRetries(t *testing.T) *programtest.Site {
	t.Helper()
	s := withEveryRuntime(t)
	s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(sayRetries(), ","))
	for _, variable := range s.Env {
		home, is := strings.CutPrefix(variable, "CODEX_HOME=")
		if !is {
			continue
		}
		file := filepath.Join(home, "config.toml")
		config, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.Replace(config, []byte("stream_max_retries = 1"), []byte("stream_max_retries = 20"), 1), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A turn whose model does not answer reports each attempt of its agent in one entry and as the session's last error.
// It also reports when the model answers again.
func TestEveryRuntimeSaysItsRetries(t *testing.T) {
	t.Parallel()
	s := withRetries(t)
	server := s.Start()
	server.WaitRuntime()
	events := server.Follow("after=0")
	for _, runtime := range sayRetries() {
		t.Run(runtime, func(t *testing.T) { saysItsRetries(t, server, events, runtime) })
		t.Run(runtime+" at once", func(t *testing.T) { showsAnAttemptAtOnce(t, s, server, runtime) })
	}
	server.Stop()
}

func saysItsRetries(t *testing.T, server *programtest.Server, events *programtest.Follower, runtime string) {
	session := server.CreateSession(programtest.Object{"runtime": runtime, "filesystemSandbox": "danger-full-access",
		"networkAccess": "enabled"})
	turn := server.Send(session, "MOCK_DOWN["+runtime+"] MOCK_REPLY["+runtime+" is back]")
	retry := func(f programtest.Frame) bool {
		return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "entry", "messageId") == "turn-retry-"+turn
	}
	first := events.Find("an attempt of "+runtime, retry).Decoded()
	shown := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if programtest.Text(shown, "session", "lastError", "turnId") != turn {
		t.Errorf("after %v the last error is %v", first, shown["session"])
	}
	server.Model.Release(runtime)
	details := programtest.Text(first, "entry", "details")
	for _, part := range []string{`"attempt": `, `"reason": "`, `"remedy": "`, "tries again by itself"} {
		if !strings.Contains(details, part) {
			t.Errorf("the entry has no %s: %s", part, details)
		}
	}
	status, entries := events.FindTurn(turn), server.Entries(session, "turn.retrying")
	want := map[string]string{"completed": "complete", "failed": "error"}[status]
	if len(entries) != 1 || programtest.Text(entries[0], "status") != want {
		t.Errorf("after a turn that %s the entries are %v", status, entries)
	}
	if runtime != "claude" && runtime != "claude-acp" && status != "completed" { // these stop retrying early
		t.Errorf("the turn %s", status)
	}
}

// printed is the output of a command so far.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *printed) Write(part []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(part)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// soon is how long after its agent's notice an attempt must be visible everywhere: two seconds, and more on a busy
// machine.
const soon = 10 * time.Second

// An agent's notice of an attempt soon appears in the transcript, in the session's last error and in the output of
// `harness run`. The agent decides how long after the model's refusal it sends the notice, so the test only logs that
// time.
func showsAnAttemptAtOnce(t *testing.T, s *programtest.Site, server *programtest.Server, runtime string) {
	session := server.CreateSession(programtest.Object{"runtime": runtime, "filesystemSandbox": "danger-full-access",
		"networkAccess": "enabled"})
	frames := server.Follow("threadId=" + session)
	out, name := &printed{}, "soon-"+runtime
	command := exec.CommandContext(t.Context(), programtest.Program(t), "run", "--url", server.URL, "--session", session,
		"MOCK_DOWN["+name+"] MOCK_REPLY[back]")
	command.Env, command.Dir, command.Stdout, command.Stderr = s.Env, s.Workspace, out, out
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Model.Release(name); _ = command.Wait() }() // its exit code is non-zero for a failed turn
	frames.Find("the notice of "+runtime, func(f programtest.Frame) bool {
		frame := f.Decoded()
		return f.Type == "notification" && (programtest.Text(frame, "params", "willRetry") == "true" ||
			strings.Contains(programtest.Text(frame, "params", "message"), "Reconnecting"))
	})
	noticed, seen := time.Now(), map[string]time.Time{}
	refusals := 0
	for _, request := range slices.Backward(server.Model.Requests()) {
		if strings.Contains(request.UserText, name) {
			refusals++
			seen["the first refusal"] = request.At
		}
	}
	shows := map[string]func() bool{
		"the entry": func() bool { return len(server.Entries(session, "turn.retrying")) == 1 },
		"the last error": func() bool {
			shown := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
			return programtest.Text(shown, "session", "lastError", "message") != ""
		},
		"harness run": func() bool { return strings.Contains(out.String(), "tries again by itself") },
	}
	if !polling.Until(programtest.Patience, func() bool {
		for what, shown := range shows {
			if seen[what].IsZero() && shown() {
				seen[what] = time.Now()
			}
		}
		return len(seen) == len(shows)+1
	}) {
		t.Fatalf("shown is %v; harness run printed %s", seen, out)
	}
	for what := range shows {
		if took := seen[what].Sub(noticed); took > soon {
			t.Errorf("%s came %s after the notice", what, took)
		}
	}
	t.Logf("the notice came %s after the first of %d refusals, all of it was shown %s later",
		noticed.Sub(seen["the first refusal"]), refusals, time.Since(noticed))
}

// Turns count with the usage of each, even if each ran in a separate process, and with the model of the runtime. MO-01
func TestTurnsOfKilledAgentsCount(t *testing.T) {
	t.Parallel()
	runtimes := []string{"codex", "claude", "opencode", "gemini"} // one of each adapter
	s := withEveryRuntime(t)
	s.Env = append(s.Env, "HARNESS_RUNTIMES="+strings.Join(runtimes, ","))
	server := s.Start()
	server.WaitRuntime()
	events := server.Follow("after=0")
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			session := server.CreateSession(programtest.Object{"runtime": runtime, "filesystemSandbox": "danger-full-access",
				"networkAccess": "enabled"})
			used := func() float64 {
				total := server.Want(http.StatusOK, http.MethodGet, "/api/usage?by=day&session="+session, nil)["total"]
				n, _ := total.(programtest.Object)["totalTokens"].(float64)
				return n
			}
			turn := func() {
				if status := events.FindTurn(sendAfterDeath(server, session, "MOCK_REPLY[one more]")); status != "completed" {
					t.Fatalf("a turn ended %s", status)
				}
			}
			turn()
			first := used()
			var pid int // 0 would be the test's own process group
			server.Eventually("its process is listed", func() bool { pid = processOf(server, runtime, session); return pid > 0 })
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			server.Eventually("it is gone", func() bool { return processOf(server, runtime, session) != pid })
			turn()
			if got := used(); first == 0 || got != 2*first {
				t.Errorf("two equal turns used %v, and the first one %v", got, first)
			}
			models := server.Want(http.StatusOK, http.MethodGet, "/api/usage?by=model&session="+session, nil)["data"].([]any)
			if name := programtest.Text(models[0], "key"); len(models) != 1 || name == "unknown" {
				t.Errorf("the usage by model is %v", models)
			} else {
				t.Logf("its model is %s", name)
			}
			saysWhatIsWrong(t, server, runtime)
		})
	}
	server.Stop()
}
