// Package extensiontools_test tests agents that call tools of extensions, on whole servers.
package extensiontools_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/extensionstest"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

const word = `"input":{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`

// event is an event of the task API.
type event struct {
	Type    string
	Payload struct {
		Name          string          `json:"name"`
		ResultPreview json.RawMessage `json:"result_preview"`
		IsError       bool            `json:"is_error"`
		ExecutedBy    string          `json:"executed_by"`
		Reason        string          `json:"reason"`
	}
}

// A real agent calls tools of an extension in the server and of one in a Node process. Reads run, and writes need an
// approval. Input that the schema refuses is denied, and an exception in a handler is a failed call. The audit log
// has all of this, as for the server's own tools. A failed reload changes nothing, and a successful one replaces the
// tools.
func TestAgentsCallToolsOfExtensions(t *testing.T) {
	t.Parallel()
	extension := func(name, tools, more string) string {
		return `{"name":"@t/` + name + `","version":"1.0.0","agentId":"` + name + `","displayName":"` + name + `",
			"capabilities":{"events":[],"actions":[],"host":["exec"]},"tools":[` + tools + `]` + more + `}`
	}
	find := `{"name":"inside.look","class":"read-only","description":"looks",` + word + `,"handler":"look"}`
	inside := `export function registerAgentEvents(registry) {
		registry.on("look", async (event) => {
			if (event.payload.input.word === "no") throw new Error("not that word");
			return {saw: event.payload.input.word, of: event.payload.sessionId};
		});
	}`
	root := extensionstest.Write(t, map[string]string{
		"inside/extension.manifest.json": extension("inside", find, ""), "inside/events.mjs": inside,
		"node/extension.manifest.json": extension("node", `{"name":"outside.note","class":"write","description":"notes",`+
			word+`}`, `,"runtime":{"host":"node"}`),
		"node/events.mjs": `import { writeFileSync } from "node:fs";
			export function registerAgentEvents(registry) {
				registry.on("tool.outside.note", ({payload}) => {
					writeFileSync(payload.workspace + "/noted", payload.input.word);
					return {noted: payload.input.word};
				});
			}`,
	})
	site := programtest.New(t, programtest.WithEnv("AGENT_EXTENSION_CONFIGURED_ROOTS="+root,
		"AGENT_EXTENSION_TRUST_MODE=enforced", "HARNESS_EXTENSION_PROCESS_ALLOWED=@t/node", "HARNESS_TRUST=true",
		"HARNESS_TOOLS=extension:@t/inside,extension:@t/node"))
	server := site.Start()
	server.WaitRuntime()
	// do sends a request and decodes the 2xx response, unless answer is nil.
	do := func(method, path string, body, answer any) (int, []byte) {
		t.Helper()
		status, text, err := server.Try(method, path, body)
		if err == nil && answer != nil && status/100 == 2 {
			err = json.Unmarshal(text, answer)
		}
		if err != nil {
			t.Fatalf("%s %s: %d %s: %v", method, path, status, text, err)
		}
		return status, text
	}
	folder := t.TempDir()
	begin := func() (session string) {
		t.Helper()
		return programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
			map[string]any{"runtime": "codex", "permission_mode": "auto", "cwd": folder}), "session_id")
	}
	// run runs a task, decides its approvals, and returns the results of the server's tools.
	run := func(session, script string) (ended []event) {
		t.Helper()
		var task struct {
			ID string `json:"task_id"`
		}
		if status, text := do(http.MethodPost, "/v1/sessions/"+session+"/tasks", map[string]any{
			"messages": []any{map[string]any{"role": "user", "content": script}}}, &task); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, text)
		}
		server.Eventually("the task is over", func() bool {
			var asked struct{ Data []struct{ ApprovalID string } }
			do(http.MethodGet, "/api/sessions/"+session+"/approvals", nil, &asked)
			for _, one := range asked.Data {
				do(http.MethodPost, "/api/approvals/"+one.ApprovalID+"/decision", map[string]any{"decision": "accept"}, nil)
			}
			var page struct {
				Events []struct {
					event
					Trace struct {
						TaskID string `json:"task_id"`
					}
				}
			}
			do(http.MethodGet, "/v1/sessions/"+session+"/events?limit=1000", nil, &page)
			ended = nil
			over := false
			for _, one := range page.Events {
				if one.Trace.TaskID != task.ID {
					continue
				}
				switch one.Type {
				case "tool.call.completed", "tool.call.denied", "tool.call.approved":
					ended = append(ended, one.event)
				case "task.completed", "task.failed", "task.stopped":
					over = true
				}
			}
			return over
		})
		return ended
	}
	result := func(ended []event, kind string) string {
		t.Helper()
		at := slices.IndexFunc(ended, func(e event) bool { return e.Type == "tool.call."+kind })
		if at < 0 {
			t.Fatalf("no call is %s: %+v\n%s", kind, ended, server.Log())
		}
		return string(ended[at].Payload.ResultPreview) + ended[at].Payload.Reason
	}
	session := begin()
	if got := result(run(session, `MOCK_CALL[harness/inside_look|{"word":"yes"}]END`), "completed"); got !=
		`{"saw":"yes","of":"`+session+`"}` {
		t.Errorf("the one in the server answered %s", got)
	}
	if got := result(run(session, `MOCK_CALL[harness/inside_look|{"word":"no"}]END`), "completed"); !strings.Contains(got,
		"not that word") {
		t.Errorf("what it threw is reported as %s", got)
	}
	if got := result(run(session, `MOCK_CALL[harness/inside_look|{"other":1}]END`), "denied"); !strings.Contains(
		got, "word") {
		t.Errorf("a refusal by its schema is reported as %s", got)
	}
	if got := result(run(session, `MOCK_CALL[harness/outside_note|{"word":"kept"}]END`), "completed"); got !=
		`{"noted":"kept"}` {
		t.Errorf("the one in a process answered %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "noted")); err != nil || string(text) != "kept" {
		t.Errorf("it wrote %q (%v)", text, err)
	}

	reload := func() int {
		status, _ := do(http.MethodPost, "/api/agents/extensions/reload", map[string]any{}, nil)
		return status
	}
	extensionstest.Put(t, root, map[string]string{
		"inside/extension.manifest.json": extension("inside", strings.Replace(find, "read-only", "harmless", 1), "")})
	if status := reload(); status/100 == 2 {
		t.Error("a class that is none is loaded")
	}
	if got := result(run(session, `MOCK_CALL[harness/inside_look|{"word":"still"}]END`),
		"completed"); !strings.Contains(got,
		"still") {
		t.Errorf("after a reload that failed it answered %s", got)
	}
	extensionstest.Put(t, root, map[string]string{
		"inside/extension.manifest.json": extension("inside", strings.Replace(find, "inside.look", "inside.peek", 1), "")})
	if status := reload(); status != http.StatusOK {
		t.Fatalf("the reload answered %d", status)
	}
	if got := result(run(begin(), `MOCK_CALL[harness/inside_peek|{"word":"new"}]END`), "completed"); !strings.Contains(got,
		"new") {
		t.Errorf("after the reload it answered %s", got)
	}
	server.Stop()
}
