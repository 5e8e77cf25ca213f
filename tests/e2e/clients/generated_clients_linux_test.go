package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/client"
	"harness/tests/programtest"
)

// clientProgram runs a program in a folder and returns its output.
func clientProgram(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*programtest.Patience) // for a compiler on a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, said)
	}
	return string(said)
}

// went is the output of the programs.
type went struct {
	Status string   `json:"status"`
	Events []string `json:"events"`
}

func (w went) check(t *testing.T, file string) {
	t.Helper()
	events := strings.Join(slices.Compact(w.Events), " ")
	for _, want := range []string{"session.created task.started model.input",
		"tool.call.requested tool.call.policy_evaluated",
		"tool.call.approved tool.call.started", "tool.call.completed", "task.completed"} {
		if !strings.Contains(events, want) {
			t.Errorf("the events are %s, without %s", events, want)
		}
	}
	if w.Status != "completed" {
		t.Errorf("the task is %s", w.Status)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// tsconfig compiles TypeScript clients strictly.
const tsconfig = `{"compilerOptions":{"strict":true,"noUncheckedIndexedAccess":true,"target":"es2022","module":"esnext",` +
	`"moduleResolution":"bundler","lib":["es2023","dom","dom.iterable","dom.asynciterable"],"types":[],"skipLibCheck":true},` +
	`"files":["task.ts"]}`

// EV-27, RA-04: TypeScript, Python and Go clients generated from the API's document run a task with an approval, over
// HTTP and server-sent events.
func TestGeneratedClientsRunATask(t *testing.T) {
	t.Parallel()
	made := generators(t)
	document, err := filepath.Abs("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := programtest.New(t)
	server := s.Start()
	server.WaitRuntime()
	programs, err := filepath.Abs(filepath.Join("testdata", "clients"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, name string, program func(message string) string) {
		t.Helper()
		file := filepath.Join(s.Workspace, "made-by-"+name)
		said := strings.TrimSpace(program("MOCK_CMD[touch " + file + "]"))
		var w went
		if err := json.Unmarshal([]byte(said[strings.LastIndexByte(said, '\n')+1:]), &w); err != nil {
			t.Fatalf("%s says %s", name, said)
		}
		w.check(t, file)
	}
	// folder creates a folder with a program in it.
	folder := func(t *testing.T, name string) string {
		t.Helper()
		dir := t.TempDir()
		content, err := os.ReadFile(filepath.Join(programs, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Run("clients", func(t *testing.T) {
		t.Run("TypeScript", func(t *testing.T) {
			t.Parallel()
			dir := folder(t, "task.ts")
			if err := errors.Join(os.Symlink(filepath.Join(made, "node_modules"), filepath.Join(dir, "node_modules")),
				os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o600),
				os.WriteFile(filepath.Join(dir, "tsconfig.json"), []byte(tsconfig), 0o600)); err != nil {
				t.Fatal(err)
			}
			clientProgram(t, dir, "node", "node_modules/openapi-typescript/bin/cli.js", document, "-o", "schema.d.ts")
			clientProgram(t, dir, "node", "node_modules/typescript/bin/tsc")
			run(t, "TypeScript", func(message string) string {
				return clientProgram(t, dir, "node", "task.js", server.URL, s.Workspace, message)
			})
		})
		t.Run("Python", func(t *testing.T) {
			t.Parallel()
			dir := folder(t, "task.py")
			clientProgram(t, dir, "node", filepath.Join(made, "python.mjs"), document, filepath.Join(dir, "schema.py"))
			run(t, "Python", func(message string) string {
				return clientProgram(t, dir, "python3", "task.py", server.URL, s.Workspace, message)
			})
		})
		t.Run("Go", func(t *testing.T) {
			t.Parallel()
			run(t, "Go", func(message string) string { return goClient(t, server.URL, s.Workspace, message) })
		})
	})
}

// goClient is the same program with package client.
func goClient(t *testing.T, base, cwd, message string) string {
	t.Helper()
	api, err := client.Connect(base, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	mode, native := client.TaskSessionCreatePermissionMode("ask"), client.TaskSessionCreateNativeTools("on")
	session, err := client.Read[client.TaskSession](api.CreateTaskSession(ctx,
		client.TaskSessionCreate{PermissionMode: &mode, NativeTools: &native, Cwd: &cwd}))
	if err != nil {
		t.Fatal(err)
	}
	task, err := client.Read[client.TaskAccepted](api.CreateTask(ctx, session.SessionID, client.TaskCreate{
		Messages: []client.TaskCreate_Messages{{Role: "user", Content: message}}}))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := api.ListTaskEvents(ctx, session.SessionID, nil, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Accept", "text/event-stream")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	var w went
	var asked client.TaskEvent
	numbered := false
	for lines := bufio.NewScanner(stream.Body); !slices.Contains(w.Events, "task.completed") && lines.Scan(); {
		line := lines.Text()
		if line == "" {
			numbered = false
		}
		numbered = numbered || strings.HasPrefix(line, "id: ")
		data, is := strings.CutPrefix(line, "data: ")
		if !is || !numbered {
			continue
		}
		var event client.TaskEvent
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		w.Events = append(w.Events, event.Type)
		switch {
		case event.Type == "tool.call.requested":
			asked = event
		case event.Type == "tool.call.policy_evaluated" && event.Payload["result"] == "ask":
			reason := "Go says so"
			_, err := client.Read[client.TaskDecided](
				api.ApproveToolCall(ctx, session.SessionID, fmt.Sprint(asked.Payload["tool_call_id"]),
					client.TaskDecision{Attempt: int(asked.Payload["attempt"].(float64)), Reason: &reason,
						InputHash: asked.Payload["input_hash"].(string)}))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ended, err := client.Read[client.Task](api.GetTask(ctx, session.SessionID, task.TaskID))
	if err != nil {
		t.Fatal(err)
	}
	w.Status = string(ended.Status)
	said, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}
