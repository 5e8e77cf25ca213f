package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime/wire"
	"harness/tests/codexschema"
)

// Items of before commandActions get them, once; every other item passes byte for byte.
func TestStoredItemsAreCompleted(t *testing.T) { // RA-30
	t.Parallel()
	const before = `{"type":"commandExecution","id":"c","command":"ls \"a\"","cwd":"/w","status":"completed"}`
	complete := wire.Complete(json.RawMessage(before))
	const want = `{"type":"commandExecution","id":"c","command":"ls \"a\"","cwd":"/w","status":"completed",` +
		`"commandActions":[{"type":"unknown","command":"ls \"a\""}]}`
	if string(complete) != want {
		t.Errorf("completed it is %s", complete)
	}
	if again := wire.Complete(complete); string(again) != want {
		t.Errorf("completed again it is %s", again)
	}
	for _, item := range []string{
		`{ "type":"commandExecution", "command":"ls","commandActions":[] }`,
		`{ "type":"agentMessage", "id":"a", "text":"x" }`, `[]`, `null`, ``,
	} {
		if got := wire.Complete(json.RawMessage(item)); string(got) != item {
			t.Errorf("%s became %s", item, got)
		}
	}
	const declined = `{"item":{"type":"mcpToolCall","id":"c","server":"s","tool":"t","arguments":{},"status":"declined"},` +
		`"threadId":"t","turnId":"u","completedAtMs":1}`
	failed := wire.CompleteNotification(wire.MethodItemCompleted, json.RawMessage(declined))
	if string(failed) != strings.Replace(declined, "declined", "failed", 1) {
		t.Errorf("a declined call became %s", failed)
	}
	if got := wire.CompleteNotification(wire.MethodWarning, json.RawMessage(declined)); string(got) != declined {
		t.Errorf("another notification became %s", got)
	}
	long := strings.Repeat("é", 1<<20)
	if got := wire.Complete([]byte(`{"type":"commandExecution","command":"` + long + `"}`)); len(got) > len(long)+1<<17 {
		t.Errorf("a command of %d bytes became an item of %d bytes", len(long), len(got))
	}
	for _, version := range codexschema.Versions() {
		schema := codexschema.Of(t, version)
		if err := schema.Item(json.RawMessage(before)); err == nil {
			t.Error("the schema allows the item of before")
		}
		for _, item := range []json.RawMessage{complete, wire.Members(failed, "item")[0]} {
			if err := schema.Item(item); err != nil {
				t.Error(err)
			}
		}
	}
}

// Requests of before startedAtMs and isBlocking get them, and a tool's approval is that of a command.
func TestStoredRequestsAreCompleted(t *testing.T) { // RA-31
	t.Parallel()
	const ids = `"threadId":"t","turnId":"u","itemId":"i"`
	for _, c := range []struct {
		name, method, params, want, wantMethod string
		session                                bool
	}{
		{"a command", wire.MethodApproveCommand, `{` + ids + `,"command":"ls","cwd":"/w","reason":null}`,
			`{` + ids + `,"command":"ls","cwd":"/w","reason":null,"startedAtMs":7,` +
				`"availableDecisions":["accept","acceptForSession","decline","cancel"]}`, "", true},
		{"files", wire.MethodApproveFileChange, `{` + ids + `,"reason":null}`,
			`{` + ids + `,"reason":null,"startedAtMs":7,"availableDecisions":["accept","decline","cancel"]}`, "", false},
		{"permissions", wire.MethodApprovePermissions, `{` + ids + `,"cwd":"/w","permissions":{}}`,
			`{` + ids + `,"cwd":"/w","permissions":{},"startedAtMs":7}`, "", true},
		{"a question", wire.MethodAskUser, `{` + ids + `,"questions":[]}`, `{` + ids + `,"questions":[],"isBlocking":true}`, "", true},
		{"a tool", wire.MethodApproveTool, `{` + ids + `,"tool":"WebFetch","arguments":{"url":"u"},"reason":"r"}`,
			`{"kind":"command",` + ids + `,"startedAtMs":7,"reason":"r","command":"WebFetch {\"url\":\"u\"}","cwd":"/s",` +
				`"availableDecisions":["accept","acceptForSession","decline","cancel"]}`, wire.MethodApproveCommand, true},
		{"a tool of this server", wire.MethodApproveTool,
			`{` + ids + `,"tool":"ask","arguments":null,"reason":null,"availableDecisions":["accept","decline"]}`,
			`{"kind":"command",` + ids + `,"startedAtMs":7,"reason":null,"command":"ask","cwd":"/s",` +
				`"availableDecisions":["accept","decline"]}`, wire.MethodApproveCommand, true},
		{"one of codex", wire.MethodApproveCommand, `{ ` + ids + `, "startedAtMs":1, "availableDecisions":["cancel"]}`,
			`{ ` + ids + `, "startedAtMs":1, "availableDecisions":["cancel"]}`, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pending := wire.Pending{Method: c.method, Params: json.RawMessage(c.params), CreatedAt: 7, Cwd: "/s", ForSession: c.session}
			method, params := pending.Native()
			if c.wantMethod == "" {
				c.wantMethod = c.method
			}
			if method != c.wantMethod || string(params) != c.want {
				t.Errorf("it is %s %s, not %s", method, params, c.want)
			}
			pending.Method, pending.Params, pending.CreatedAt = method, params, 8
			if _, again := pending.Native(); string(again) != c.want {
				t.Errorf("again it is %s", again)
			}
			frame, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range codexschema.Versions() {
				if err := codexschema.Of(t, version).Frame(frame); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The client's id of a message stands in its item alone, and replaces none.
func TestClientIDsOfMessages(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		`{"type":"userMessage","id":"m","content":[]}`:                 `{"type":"userMessage","id":"m","content":[],"clientId":"k"}`,
		`{"type":"userMessage","clientId":null,"id":"m","content":[]}`: `{"type":"userMessage","clientId":"k","id":"m","content":[]}`,
		`{ "type":"userMessage", "clientId":"x" }`:                     `{ "type":"userMessage", "clientId":"x" }`,
		`{ "type":"agentMessage" }`:                                    `{ "type":"agentMessage" }`,
	} {
		if got := wire.WithClientID(json.RawMessage(item), "k"); string(got) != want {
			t.Errorf("%s became %s", item, got)
		}
		if got := wire.WithClientID(json.RawMessage(item), ""); string(got) != item {
			t.Errorf("without an id %s became %s", item, got)
		}
	}
}
