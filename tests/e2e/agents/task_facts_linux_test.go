package agents

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/services/tools"
	"harness/tests/programtest"
)

// taskRun is the data in the events of a task.
type taskRun struct {
	hash, model, native, executedBy string
	input                           json.RawMessage
	long                            *programtest.Object
	timed, ended                    bool
}

// runTask runs a task in a session and accepts its approvals.
func runTask(t *testing.T, server *programtest.Server, session, message string) (run taskRun) {
	t.Helper()
	base := "/v1/sessions/" + session
	server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{"task_id": "one",
		"messages": []programtest.Object{{"role": "user", "content": message}}})
	decided := map[string]bool{}
	server.Eventually("the task is over", func() bool {
		run = taskRun{}
		for _, one := range server.Want(http.StatusOK, http.MethodGet, base+"/events?limit=5000", nil)["events"].([]any) {
			event := one.(programtest.Object)
			payload, _ := event["payload"].(programtest.Object)
			call := programtest.Text(payload, "tool_call_id")
			switch kind := programtest.Text(event, "type"); {
			case kind == "tool.call.requested" && run.hash == "":
				run.hash = programtest.Text(payload, "input_hash")
				run.input, _ = json.Marshal(payload["input"])
			case kind == "tool.call.policy_evaluated" && programtest.Text(payload, "result") == "ask" && !decided[call]:
				decided[call] = true
				server.Want(http.StatusOK, http.MethodPost, base+"/tool-calls/"+url.PathEscape(call)+"/approve",
					programtest.Object{"attempt": payload["attempt"], "input_hash": payload["input_hash"]})
			case kind == "tool.call.completed":
				run.executedBy = programtest.Text(payload, "executed_by")
				if ref, is := payload["result_ref"].(programtest.Object); is {
					run.long = &ref
				}
			case kind == "usage.reported":
				_, cached := payload["cached_input_tokens"].(float64)
				run.timed = cached && programtest.Text(payload, "timings", "duration_ms") != ""
			case strings.HasPrefix(kind, "task.") && kind != "task.started":
				run.ended = kind == "task.completed"
				if !run.ended {
					t.Errorf("the task ends with %v", event)
				}
				run.model, run.native = programtest.Text(event, "runtime", "model"), programtest.Text(event, "runtime", "runtime_session_id")
				return true
			}
		}
		return false
	})
	return run
}

// EV-01, EV-13, EV-14, EV-19, TL-20, TL-21, TL-22, TL-26: for every real agent. A session of the task API has no
// built-in tools of the agent unless it requests them. If its runtime has no such setting, the response explains how
// to request them. The event of a command by the agent names the runtime as its executor. Its hash does not depend on
// the folder and can be recomputed from the input. A long result becomes an artifact. The events name the model and
// the native id. The usage has timings and cached tokens.
func TestWhatEventsSayOfEveryRuntime(t *testing.T) {
	t.Parallel()
	s := withEveryRuntime(t, programtest.WithEnv("DEFAULT_SANDBOX_MODE=danger-full-access", "DEFAULT_NETWORK_ACCESS=enabled"))
	server := s.Start()
	server.WaitRuntime()
	markers := map[string]string{"codex": "MOCK_CMD"}
	for _, one := range everyRuntime() {
		markers[one.name] = strings.TrimSuffix(one.command(""), "[]")
	}
	for name, marker := range markers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			can := server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+name, nil)["capabilities"].(programtest.Object)
			want := http.StatusBadRequest
			if can["nativeToolsOff"] == true {
				want = http.StatusCreated
			}
			answer := server.Want(want, http.MethodPost, "/v1/sessions", programtest.Object{"runtime": name, "permission_mode": "ask"})
			if want == http.StatusCreated && answer["native_tools"] != "off" || want != http.StatusCreated &&
				(answer["error"] != "unsupported_control" || !strings.Contains(programtest.Text(answer, "message"), `"native_tools": "on"`)) {
				t.Errorf("without a word about its tools a session of %s is answered %v", name, answer)
			}
			hashes := map[string]bool{}
			for _, folder := range []string{"one", "the other"} {
				cwd := filepath.Join(s.Workspace, name, folder)
				if err := os.MkdirAll(cwd, 0o755); err != nil {
					t.Fatal(err)
				}
				made := server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", programtest.Object{"runtime": name, "cwd": cwd,
					"permission_mode": "ask", "native_tools": "on"})
				run := runTask(t, server, programtest.Text(made, "session_id"), marker+"[seq 1 4000 # "+cwd+"/x]")
				if sum, err := tools.Hash(run.input); err != nil || sum != run.hash {
					t.Errorf("the input %s has the hash %s, said is %s (%v)", run.input, sum, run.hash, err)
				}
				hashes[run.hash] = true
				if run.executedBy != "runtime" || run.model == "" || run.native == "" || !run.timed {
					t.Errorf("the events say %+v", run)
				}
				if run.long == nil {
					t.Errorf("the result of %s is no artifact", run.input)
					continue
				}
				status, content, err := server.Try(http.MethodGet, "/v1/artifacts/"+programtest.Text(*run.long, "artifact_id"), nil)
				sum := sha256.Sum256(content)
				if err != nil || status != http.StatusOK || programtest.Text(*run.long, "content_hash") != "sha256:"+hex.EncodeToString(sum[:]) {
					t.Errorf("the artifact %v is answered %d with %d bytes, %v", *run.long, status, len(content), err)
				}
			}
			if len(hashes) != 1 {
				t.Errorf("the same command has the hashes %v in two folders", hashes)
			}
		})
	}
}
