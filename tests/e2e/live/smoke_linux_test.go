// Package live has the end-to-end tests that need credentials: each agent with its real model. They need the build
// tag live. Their steps also run in every test run with a scripted model.
package live

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// smoke makes an agent answer one prompt and run one command, in a session that asks about everything.
func smoke(t *testing.T, server *programtest.Server, runtime, prompt, answer string, command func(string) string) {
	t.Helper()
	made := server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
		programtest.Object{"runtime": runtime, "cwd": server.Workspace, "permission_mode": "ask", "native_tools": "on"})
	base := "/v1/sessions/" + programtest.Text(made, "session_id")
	if said := do(t, server, base, "prompt", prompt); !strings.Contains(strings.ToLower(said), answer) {
		t.Errorf("%s says %s", runtime, said)
	}
	file := filepath.Join(server.Workspace, "made-by-"+runtime)
	events := do(t, server, base, "command", command("touch "+file))
	if _, err := os.Stat(file); err != nil || !strings.Contains(events, "tool.call.approved") {
		t.Errorf("%s ran no command with an approval: %v\n%s", runtime, err, events)
	}
}

// do runs a task, approves its requests, and returns its events as JSON, or why it did not complete.
func do(t *testing.T, server *programtest.Server, base, task, prompt string) string {
	t.Helper()
	server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{"task_id": task,
		"messages": []programtest.Object{{"role": "user", "content": prompt}}})
	seen, end := []any{}, programtest.Object{}
	decided := map[string]bool{}
	server.Eventually("the end of "+task, func() bool {
		seen = seen[:0]
		page := server.Want(http.StatusOK, http.MethodGet, base+"/events?limit=5000", nil)
		called := map[string]programtest.Object{}
		for _, event := range page["events"].([]any) {
			if programtest.Text(event, "trace", "task_id") != task {
				continue
			}
			seen = append(seen, event)
			payload, _ := event.(programtest.Object)["payload"].(programtest.Object)
			switch id := programtest.Text(payload, "tool_call_id"); programtest.Text(event, "type") {
			case "tool.call.requested":
				called[id] = payload
			case "tool.call.policy_evaluated":
				if call := called[id]; programtest.Text(payload, "result") == "ask" && !decided[id] {
					decided[id] = true
					server.Want(http.StatusOK, http.MethodPost,
						base+"/tool-calls/"+strings.ReplaceAll(id, ":", "%3A")+"/approve",
						programtest.Object{"attempt": call["attempt"], "input_hash": call["input_hash"]})
				}
			case "task.completed", "task.failed", "task.stopped":
				end = event.(programtest.Object)
			}
		}
		return len(end) > 0
	})
	if programtest.Text(end, "type") != "task.completed" {
		t.Errorf("it ended %v", end)
	}
	return programtest.Encoded(t, seen)
}

// TE-05: the steps of the tests with real models work with scripted ones.
func TestTheSmokeTest(t *testing.T) {
	t.Parallel()
	server := programtest.WithClaude(t, programtest.WithEnv("DEFAULT_NETWORK_ACCESS=enabled")).Start()
	server.AwaitRuntime()
	for _, runtime := range []string{"codex", "claude"} {
		smoke(t, server, runtime, "MOCK_REPLY[Pong.]", "pong", func(run string) string { return "MOCK_CMD[" + run + "]" })
	}
	server.Stop()
}
