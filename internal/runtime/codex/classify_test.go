package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

func classified(t testing.TB, line string) runtime.Signal {
	t.Helper()
	f, err := parseFrame([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return classify(f, []byte(line), "g", time.UnixMilli(5))
}

func TestChangeOfNotifications(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]runtime.Change{
		`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u","startedAt":1795224552}}}`: runtime.TurnStarted{
			TurnID: "u", StartedAt: 1795224552000, Native: json.RawMessage(`{"id":"u","startedAt":1795224552}`)},
		`{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}`: runtime.TurnStarted{
			TurnID: "u", Native: json.RawMessage(`{"id":"u"}`)},
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed",` +
			`"error":{"message":"bad"},"startedAt":1,"completedAt":2}}}`: runtime.TurnCompleted{
			TurnID: "u", Status: runtime.TurnFailed, Error: "bad", StartedAt: 1000, CompletedAt: 2000,
			Native: json.RawMessage(`{"id":"u","status":"failed","error":{"message":"bad"},"startedAt":1,"completedAt":2}`),
		},
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"interrupted","error":null}}}`: runtime.TurnCompleted{
			TurnID: "u", Status: runtime.TurnInterrupted,
			Native: json.RawMessage(`{"id":"u","status":"interrupted","error":null}`)},
		`{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"failed",` +
			`"error":{"message":"401 Unauthorized","codexErrorInfo":"other"}}}}`: runtime.TurnCompleted{
			TurnID: "u", Status: runtime.TurnFailed, Error: "401 Unauthorized", Kind: errors.Join(errors.Join(runtime.ErrAuthRequired)),
			Native: json.RawMessage(`{"id":"u","status":"failed","error":{"message":"401 Unauthorized","codexErrorInfo":"other"}}`)},
		`{"method":"turn/completed","params":{"threadId":"t","turn":{}}}`: nil,
		`{"method":"turn/completed","params":null}`:                       nil,
		`{"method":"thread/name/updated","params":{"threadId":"t","threadName":"a\u0000b"}}`: runtime.ThreadNamed{
			Name: "a\uFFFDb"},
		`{"method":"thread/name/updated","params":{"threadId":"t","threadName":null}}`: nil,
		`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}`: runtime.RequestResolved{
			RequestID: json.RawMessage("0")},
		`{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":"x"}}`: runtime.RequestResolved{
			RequestID: json.RawMessage(`"x"`)},
		`{"method":"some/future","params":{"threadId":"t"}}`: nil,
		`{"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1795224553489,` +
			`"item":{"type":"agentMessage","id":"m","text":"hi","startedAtMs":1795224553488}}}`: runtime.ItemChanged{
			TurnID: "u", Done: true, Item: runtime.Item{ID: "m", Role: "assistant", Type: "agentMessage", Content: "hi",
				StartedAt: 1795224553488, CompletedAt: 1795224553489,
				Native: json.RawMessage(`{"type":"agentMessage","id":"m","text":"hi","startedAtMs":1795224553488}`)},
		},
	} {
		if got := classified(t, line); !reflect.DeepEqual(got.Change, want) {
			t.Errorf("%s\ngot  %#v\nwant %#v", line, got.Change, want)
		}
	}
}

func TestIDsOfFrames(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][3]string{
		`{"method":"a","params":{"threadId":"t","turnId":"u","itemId":"i"}}`:                            {"t", "u", "i"},
		`{"method":"a","params":{"thread":{"id":"t"},"turn":{"id":"u"},"item":{"id":"i"}}}`:             {"t", "u", "i"},
		`{"id":0,"method":"item/tool/call","params":{"conversationId":"t","turnId":null,"callId":"i"}}`: {"t", "", "i"},
		`{"method":"a","params":{"threadId":7,"turnId":"u","thread":"x"}}`:                              {"", "u", ""},
		`{"method":"a","params":[1]}`: {},
		`{"method":"a"}`:              {},
	} {
		if got := classified(t, line); [3]string{got.ThreadID, got.TurnID, got.ItemID} != want {
			t.Errorf("%s: %q %q %q", line, got.ThreadID, got.TurnID, got.ItemID)
		}
	}
}

func TestRequestsAreTranslated(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]runtime.InteractiveRequested{
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{"command":"ls"}}`: {Kind: runtime.RequestApproval,
			Summary: "Command approval required: ls"},
		`{"id":0,"method":"execCommandApproval","params":{"command":["git","status"]}}`: {Kind: runtime.RequestApproval,
			Summary: "Command approval required: git status"},
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{}}`: {Kind: runtime.RequestApproval,
			Summary: "Command approval required"},
		`{"id":0,"method":"item/fileChange/requestApproval","params":{}}`: {Kind: runtime.RequestApproval,
			Summary: "File change approval required"},
		`{"id":0,"method":"applyPatchApproval","params":{}}`: {Kind: runtime.RequestApproval,
			Summary: "File change approval required"},
		`{"id":0,"method":"item/tool/requestUserInput","params":{"questions":[{},{}]}}`: {
			Kind: runtime.RequestToolInput, Summary: "Tool input required (2 questions)"},
		`{"id":0,"method":"item/tool/call","params":{"tool":"lookup"}}`: {Kind: runtime.RequestToolCall,
			Summary: "Tool call requested: lookup"},
	} {
		got := classified(t, line)
		words, _ := got.Change.(runtime.InteractiveRequested)
		words.Asked = runtime.Asked{} // see TestRequestsInNeutralVocabulary
		if got.Kind != runtime.SignalRequest || !reflect.DeepEqual(words, want) {
			t.Errorf("%s: %#v", line, got.Change)
		}
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method string
		reply  runtime.Reply
		want   string
	}{
		{wire.MethodApproveCommand, runtime.Reply{Decision: "accept"}, `{"decision":"accept"}`},
		{wire.MethodApproveCommand, runtime.Reply{Decision: "accept", Scope: "session"}, `{"decision":"acceptForSession"}`},
		{wire.MethodApproveFileChange, runtime.Reply{Decision: "decline", Scope: "session"}, `{"decision":"decline"}`},
		{wire.MethodApproveFileChange, runtime.Reply{Decision: "cancel"}, `{"decision":"cancel"}`},
		{methodExecLegacy, runtime.Reply{Decision: "accept"}, `{"decision":"approved"}`},
		{methodExecLegacy, runtime.Reply{Decision: "accept", Scope: "session"}, `{"decision":"approved_for_session"}`},
		{methodPatchLegacy, runtime.Reply{Decision: "decline"}, `{"decision":"denied"}`},
		{methodPatchLegacy, runtime.Reply{Decision: "cancel"}, `{"decision":"abort"}`},
		{wire.MethodAskUser, runtime.Reply{Decision: "accept"}, `{"answers":{}}`},
		{wire.MethodAskUser, runtime.Reply{Decision: "accept", Answers: json.RawMessage(`{"q":{"answers":["<a>"]}}`)},
			`{"answers":{"q":{"answers":["<a>"]}}}`},
		{wire.MethodAskUser, runtime.Reply{Decision: "cancel"}, `{"status":"cancel"}`},
		{wire.MethodCallTool, runtime.Reply{Success: true}, `{"success":true,"contentItems":[]}`},
		{wire.MethodCallTool, runtime.Reply{Raw: json.RawMessage(`{"any":1}`)}, `{"any":1}`},
	} {
		got, err := encodeReply(version{0, 101, 0}, runtime.RequestRef{Method: test.method}, test.reply)
		if err != nil || strings.TrimSpace(string(got)) != test.want {
			t.Errorf("%s %+v: %s, %v", test.method, test.reply, got, err)
		}
	}
	if _, err := encodeReply(version{}, runtime.RequestRef{Method: wire.MethodApproveFileChange},
		runtime.Reply{Decision: "maybe"}); err == nil {
		t.Error("an unknown decision was encoded")
	}
	if _, err := encodeReply(version{}, runtime.RequestRef{Method: "other"},
		runtime.Reply{Decision: "accept"}); err == nil {
		t.Error("an unknown method was answered")
	}
}

func TestErrorKinds(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]error{
		"thread not loaded: 01a1":                             runtime.ErrThreadNotFound,
		"thread not found: 01a1":                              runtime.ErrThreadNotFound,
		"no rollout found for thread id 01a1":                 runtime.ErrThreadNotFound,
		"no archived rollout found for thread id 01a1":        runtime.ErrThreadNotFound,
		"invalid thread id: invalid character":                runtime.ErrThreadNotFound,
		"no active turn to steer":                             runtime.ErrNoActiveTurn,
		"no active turn to interrupt":                         runtime.ErrNoActiveTurn,
		"expected active turn id `01a-x` but found `01a-y`":   runtime.ErrNoActiveTurn,
		"Invalid request: unknown variant `no/such`":          runtime.ErrUnsupported,
		"thread name must not be empty":                       runtime.ErrInvalidState,
		"cannot delete thread ID: forked history still needs": runtime.ErrInvalidState,
	} {
		err := refusal("m", &rpcError{Code: -32600, Message: message})
		if !errors.Is(err.Kind, want) {
			t.Errorf("%s: %v", message, err.Kind)
		}
	}
	if got := activeTurnIn(
		refusal("m", &rpcError{Message: "expected active turn id `01a-x` but found `01a-y`"})); got != "01a-y" {
		t.Errorf("found turn is %q", got)
	}
	if got := activeTurnIn(errors.New("other")); got != "" {
		t.Errorf("found turn is %q", got)
	}
}

func TestPoliciesByVersion(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"harness/0.101.0 (Debian)": "on-failure", "harness/0.99.0 x": "on-failure", "harness/0.102.0 x": "on-request",
		"harness/1.0.0": "on-request", "?": "on-request",
	} {
		if got := parseVersion(agent).approvalPolicy("on-failure"); got != want {
			t.Errorf("%s: %s", agent, got)
		}
	}
	if got := parseVersion("x/0.169.0").approvalPolicy("never"); got != "never" {
		t.Errorf("never became %s", got)
	}
	for _, test := range [][3]string{
		{"read-only", "restricted", `{"type":"readOnly"}`},
		{"read-only", "enabled", `{"networkAccess":true,"type":"readOnly"}`},
		{"workspace-write", "restricted",
			`{"excludeSlashTmp":false,"excludeTmpdirEnvVar":false,"networkAccess":false,"type":"workspaceWrite","writableRoots":[]}`},
		{"danger-full-access", "enabled", `{"type":"dangerFullAccess"}`},
		{"", "enabled", `null`},
		{"readonly", "restricted", `{"type":"readonly"}`}, // codex refuses it
	} {
		if got, err := json.Marshal(sandboxPolicy(test[0], test[1])); err != nil || string(got) != test[2] {
			t.Errorf("%v: %s, %v", test, got, err)
		}
	}
}

func TestThreadFilesAreChosenCarefully(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const id = "01a1fbb8-c2da-7e63-acae-680bdab083fd"
	mine := []string{filepath.Join("sessions", "2026", "rollout-"+id+".jsonl"), filepath.Join("archived_sessions", id),
		filepath.Join("shell_snapshots", id+".sh")}
	for _, name := range append(mine, filepath.Join("sessions", "other.jsonl"), id) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := threadFiles(home, id); err != nil || len(got) != len(mine) {
		t.Errorf("files: %v, %v", got, err)
	}
	for _, bad := range []string{"", "o", "other", "../" + id, id + "/x", strings.Repeat("*", 20)} {
		if got, err := threadFiles(home, bad); err != nil || len(got) > 0 {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

// FuzzReader reads any lines of a process: it must neither panic nor pass on data that breaks later steps.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"{\"method\":\"a\",\"params\":{}}\n", "{\"id\":0,\"method\":\"item/tool/call\",\"params\":{\"tool\":\"x\\u0000\"}}\n",
		"\n\n{}\n[]\n", "{\"method\":\"item/started\",\"params\":{\"item\":{\"type\":\"plan\",\"id\":\"1\",\"text\":\"\\ud800\"},\"turnId\":\"u\"}}\n",
		"{\"method\":\"turn/completed\",\"params\":{\"turn\":{\"id\":\"u\",\"startedAt\":1e400,\"error\":[]}}}\n",
		"{\"method\":\"\xff\"}\n{\"id\":1,\"error\":{\"code\":1}}\nhalf",
		"{\"method\":\"thread/name/updated\",\"params\":{\"threadName\":\"x\"}}\r\n",
		" {\"params\": {\"delta\":\"a\\\"\",\"threadId\":\"t\",\"itemId\":\"i\", \"delta\":\"b\"} ,\"method\":\"item/plan/delta\"}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for line := range bytes.Lines(data) {
			line = bytes.ToValidUTF8(bytes.TrimRight(line, "\r\n"), []byte("\uFFFD"))
			frame, err := parseFrame(line)
			kind := frame.kind()
			if err != nil || kind != frameNotification && kind != frameRequest {
				continue
			}
			s := classify(frame, line, "g", time.UnixMilli(1))
			if !bytes.Equal(s.Raw, line) || !json.Valid(s.Raw) || len(s.Params) > 0 && !json.Valid(s.Params) {
				t.Fatalf("signal of %q is %+v", line, s)
			}
			if item, ok := s.Change.(runtime.ItemChanged); ok {
				if item.Item.ID == "" || item.Item.Role == "" || strings.ContainsRune(item.Item.Content, 0) ||
					!utf8.ValidString(item.Item.Content) {
					t.Fatalf("item of %q is %+v", line, item)
				}
			}
			if delta, ok := s.Change.(runtime.TextDelta); ok {
				spliced := string(line[:delta.Start]) + `"x"` + string(line[delta.End:])
				var text string
				if json.Unmarshal(line[delta.Start:delta.End], &text) != nil || !json.Valid([]byte(spliced)) {
					t.Fatalf("text of %q is %+v", line, delta)
				}
			}
			if (s.Kind == runtime.SignalRequest) != (len(s.RequestID) > 0) {
				t.Fatalf("request id of %q is %q", line, s.RequestID)
			}
			newTracker().notice(s)
		}
	})
}

// Read gives the same result for codex's output as the reader of a running process.
func TestReadParsesProcessOutput(t *testing.T) {
	t.Parallel()
	line := `{"method":"codex/event","params":{"conversationId":"t","id":"u"}}`
	want := classified(t, line)
	got, err := Read([]byte(line))
	if err != nil || got.ThreadID != "t" || got.ThreadID != want.ThreadID || got.Kind != want.Kind {
		t.Errorf("read %+v (%v), want %+v", got, err, want)
	}
	if _, err := Read([]byte(`{"method":`)); err == nil {
		t.Error("half a line was read")
	}
}
