package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"harness/internal/runtime"
)

// Built lines have the intended meaning, in the shapes that clients expect.
func TestBuiltLines(t *testing.T) {
	t.Parallel()
	in, about := Place{"T", "U"}, Asking{Place{"T", "U"}, "i", 9}
	output, exit, why := "<out>\n", 1, "because"
	for _, one := range []struct {
		signal runtime.Signal
		line   string
		change runtime.Change
	}{
		{TurnStarted("T", Turn{ID: "U", StartedAt: 7_500}),
			`{"method":"turn/started","params":{"threadId":"T","turn":{"id":"U","items":[],"status":"inProgress",` +
				`"error":null,"startedAt":7,"completedAt":null,"durationMs":null}}}`,
			runtime.TurnStarted{TurnID: "U", StartedAt: 7_000,
				Native: json.RawMessage(
					`{"id":"U","items":[],"status":"inProgress","error":null,"startedAt":7,"completedAt":null,"durationMs":null}`)}},
		{TurnCompleted("T", Turn{ID: "U", Status: runtime.TurnFailed, StartedAt: 7_000, CompletedAt: 9_250,
			Error: &Failure{Message: "no", Kind: json.RawMessage(`"unauthorized"`)}}),
			`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","items":[],"status":"failed",` +
				`"error":{"message":"no","codexErrorInfo":"unauthorized","additionalDetails":null},"startedAt":7,"completedAt":9,"durationMs":2250}}}`,
			runtime.TurnCompleted{TurnID: "U", Status: runtime.TurnFailed, Error: "no", StartedAt: 7_000, CompletedAt: 9_000,
				Kind: runtime.ErrAuthRequired, ProviderStatus: 401,
				Remedy: "Log in to the model provider or check its API key, then send the message again.",
				Native: json.RawMessage(
					`{"id":"U","items":[],"status":"failed","error":{"message":"no","codexErrorInfo":"unauthorized",` +
						`"additionalDetails":null},"startedAt":7,"completedAt":9,"durationMs":2250}`)}},
		{ItemStarted(in, AgentMessage("i", ""), 5_000_000_000_000),
			`{"method":"item/started","params":{"item":{"type":"agentMessage","id":"i","text":""},"threadId":"T",` +
				`"turnId":"U","startedAtMs":5000000000000}}`,
			runtime.ItemChanged{TurnID: "U", Item: runtime.Item{ID: "i", Role: "assistant", Type: "agentMessage",
				StartedAt: 5_000_000_000_000, Native: json.RawMessage(`{"type":"agentMessage","id":"i","text":""}`)}}},
		{ItemCompleted(in, Command{ID: "i", Command: "ls", Cwd: "/", Status: StatusFailed, Output: &output, ExitCode: &exit},
			5_000_000_000_000),
			`{"method":"item/completed","params":{"item":{"type":"commandExecution","id":"i","command":"ls",` +
				`"commandActions":[{"type":"unknown","command":"ls"}],"cwd":"/","status":"failed",` +
				`"aggregatedOutput":"<out>\n","exitCode":1,"durationMs":null},"threadId":"T","turnId":"U","completedAtMs":5000000000000}}`,
			runtime.ItemChanged{TurnID: "U", Done: true, Item: runtime.Item{ID: "i", Role: "system", Type: "commandExecution",
				Outlives: true, Content: "Command execution failed: ls", CompletedAt: 5_000_000_000_000,
				Details: indented(
					json.RawMessage(`{"type":"commandExecution","id":"i","command":"ls",` +
						`"commandActions":[{"type":"unknown","command":"ls"}],"cwd":"/","status":"failed",` +
						`"aggregatedOutput":"<out>\n","exitCode":1,"durationMs":null}`))}}},
		{MessageDelta(in, "i", `a"b`),
			`{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"i","delta":"a\"b"}}`,
			runtime.TextDelta{Key: "item/agentMessage/delta", Into: "content", Start: 95, End: 101}},
		{ReasoningDelta(in, "i", 2, "x"),
			`{"method":"item/reasoning/textDelta","params":{"threadId":"T","turnId":"U","itemId":"i","delta":"x","contentIndex":2}}`,
			runtime.TextDelta{Key: "item/reasoning/textDelta/2", Into: "details/content/2", Start: 96, End: 99}},
		{SummaryDelta(in, "i", 0, "x"),
			`{"method":"item/reasoning/summaryTextDelta","params":{"threadId":"T","turnId":"U","itemId":"i","delta":"x","summaryIndex":0}}`,
			runtime.TextDelta{Key: "item/reasoning/summaryTextDelta/0", Into: "details/summary/0", Start: 103, End: 106}},
		{CommandOutput(in, "i", "x"),
			`{"method":"item/commandExecution/outputDelta","params":{"threadId":"T","turnId":"U","itemId":"i","delta":"x"}}`,
			runtime.TextDelta{Key: "item/commandExecution/outputDelta", Into: "details/aggregatedOutput", Start: 105, End: 108,
				Outlives: true}},
		{PlanUpdated(in, Step{"one", "pending"}),
			`{"method":"turn/plan/updated","params":{"threadId":"T","turnId":"U","explanation":null,"plan":[{"step":"one","status":"pending"}]}}`,
			nil},
		{DiffUpdated(in, "+a"), `{"method":"turn/diff/updated","params":{"threadId":"T","turnId":"U","diff":"+a"}}`, nil},
		{TokenUsage(in, Tokens{5, 3, 1, 2, 0}, Tokens{5, 3, 1, 2, 0}, 0),
			`{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"U","tokenUsage":{` +
				`"total":{"totalTokens":5,"inputTokens":3,"cachedInputTokens":1,"outputTokens":2,"reasoningOutputTokens":0},` +
				`"last":{"totalTokens":5,"inputTokens":3,"cachedInputTokens":1,"outputTokens":2,"reasoningOutputTokens":0},` +
				`"modelContextWindow":null}}}`,
			nil},
		{ThreadNamed("T", "n"), `{"method":"thread/name/updated","params":{"threadId":"T","threadName":"n"}}`,
			runtime.ThreadNamed{Name: "n"}},
		{Failed(in, Failure{Message: "m"}, true),
			`{"method":"error","params":{"threadId":"T","turnId":"U","willRetry":true,"error":{"message":"m",` +
				`"codexErrorInfo":null,"additionalDetails":null}}}`,
			runtime.TurnRetrying{TurnID: "U", Reason: "m", Remedy: "Check the network, and that the model provider is up. " + tryAgain}},
		{Failed(in, Failure{Message: "m"}, false),
			`{"method":"error","params":{"threadId":"T","turnId":"U","willRetry":false,"error":{"message":"m",` +
				`"codexErrorInfo":null,"additionalDetails":null}}}`,
			nil},
		{Retrying(in, Failure{Message: "m"}, 2, 5),
			`{"method":"error","params":{"threadId":"T","turnId":"U","willRetry":true,"error":{"message":"m",` +
				`"codexErrorInfo":null,"additionalDetails":null},"retry":{"attempt":2,"of":5}}}`,
			runtime.TurnRetrying{TurnID: "U", Attempt: 2, Of: 5, Reason: "m",
				Remedy: "Check the network, and that the model provider is up. " + tryAgain}},
		{ModelRerouted(in, "a", "b"),
			`{"method":"model/rerouted","params":{"threadId":"T","turnId":"U","fromModel":"a","toModel":"b"}}`, nil},
		{RequestResolved("T", json.RawMessage(`"r"`)),
			`{"method":"serverRequest/resolved","params":{"threadId":"T","requestId":"r"}}`,
			runtime.RequestResolved{RequestID: json.RawMessage(`"r"`)}},
		{ApproveCommand(json.RawMessage(`1`), about, "ls", "/", nil),
			`{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"T","turnId":"U","itemId":"i","startedAtMs":9,` +
				`"command":"ls","cwd":"/","reason":null}}`,
			runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "Command approval required: ls",
				Asked: runtime.Asked{
					Subject: runtime.SubjectCommand, Tool: "shell", Arguments: json.RawMessage(`{"command":"ls","cwd":"/"}`)}}},
		{ApproveFileChange(json.RawMessage(`1`), about, []FileEdit{{"/f", "add", "x\n"}}, &why),
			`{"method":"item/fileChange/requestApproval","id":1,"params":{"threadId":"T","turnId":"U","itemId":"i","startedAtMs":9,` +
				`"reason":"because","changes":[{"path":"/f","kind":{"type":"add"},"diff":"x\n"}]}}`,
			runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "File change approval required",
				Asked: runtime.Asked{
					Subject:   runtime.SubjectFileChange,
					Arguments: json.RawMessage(`{"changes":[{"path":"/f","kind":{"type":"add"},"diff":"x\n"}]}`)}}},
		{ApproveTool(json.RawMessage(`1`), about, "Fetch", json.RawMessage(`{"url":"u"}`), nil),
			`{"method":"item/tool/requestApproval","id":1,"params":{"threadId":"T","turnId":"U","itemId":"i","startedAtMs":9,"tool":"Fetch",` +
				`"arguments":{"url":"u"},"reason":null}}`,
			runtime.InteractiveRequested{Kind: runtime.RequestApproval, Summary: "Tool approval required: Fetch",
				Asked: runtime.Asked{Subject: runtime.SubjectTool, Tool: "Fetch", Arguments: json.RawMessage(`{"url":"u"}`)}}},
		{AskUser(json.RawMessage(`1`), about, Question{ID: "q", Header: "h", Question: "?", Options: []Option{{"l", "d"}}}),
			`{"method":"item/tool/requestUserInput","id":1,"params":{"threadId":"T","turnId":"U","itemId":"i","startedAtMs":9,` +
				`"questions":[{"id":"q","header":"h","question":"?","options":[{"label":"l","description":"d"}],"isOther":false,"isSecret":false}],"isBlocking":true}}`,
			runtime.InteractiveRequested{Kind: runtime.RequestToolInput, Summary: "Tool input required (1 question)",
				Asked: runtime.Asked{Subject: runtime.SubjectQuestion}}},
		{CallTool(json.RawMessage(`1`), in, "i", "look", json.RawMessage(`{}`)),
			`{"method":"item/tool/call","id":1,"params":{"threadId":"T","turnId":"U","callId":"i","tool":"look","arguments":{}}}`,
			runtime.InteractiveRequested{Kind: runtime.RequestToolCall, Summary: "Tool call requested: look",
				Asked: runtime.Asked{Subject: runtime.SubjectTool, Tool: "look", Arguments: json.RawMessage(`{}`)}}},
	} {
		s := one.signal
		if string(s.Raw) != one.line {
			t.Errorf("got  %s\nwant %s", s.Raw, one.line)
		}
		if !reflect.DeepEqual(s.Change, one.change) {
			t.Errorf("%s\nmeans %#v\nwant  %#v", s.Raw, s.Change, one.change)
		}
		method, at, ok := LayoutOf(s.Raw)
		if !ok || method != s.Method || at != s.Layout {
			t.Errorf("%s: %v %q %v, built as %q %v", s.Raw, ok, method, at, s.Method, s.Layout)
		}
		if wantKind := map[bool]runtime.SignalKind{true: runtime.SignalRequest,
			false: runtime.SignalNotification}[Lookup(method).Asks != ""]; s.Kind != wantKind {
			t.Errorf("%s is a %s", s.Raw, s.Kind)
		}
		if s.ThreadID != "T" {
			t.Errorf("%s is of thread %q", s.Raw, s.ThreadID)
		}
		if delta, is := s.Change.(runtime.TextDelta); is {
			var text string
			if err := json.Unmarshal(s.Raw[delta.Start:delta.End], &text); err != nil || text == "" {
				t.Errorf("%s: the text is at %d to %d: %q, %v", s.Raw, delta.Start, delta.End, text, err)
			}
		}
	}
}

func TestBuiltItems(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		item any
		json string
	}{
		{UserMessage("i", "a", "b"),
			`{"type":"userMessage","id":"i","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		{Plan("i", "p"), `{"type":"plan","id":"i","text":"p"}`},
		{Reasoning("i", nil, []string{"c"}), `{"type":"reasoning","id":"i","summary":[],"content":["c"]}`},
		{FileChange("i", StatusCompleted, FileEdit{"/f", "update", "@@"}),
			`{"type":"fileChange","id":"i","changes":[{"path":"/f","kind":{"type":"update"},"diff":"@@"}],"status":"completed"}`},
		{ToolCall{ID: "i", Server: "s", Tool: "t", Status: StatusInProgress, Arguments: json.RawMessage(`{"a":"<"}`)},
			`{"type":"mcpToolCall","id":"i","server":"s","tool":"t","status":"inProgress","arguments":{"a":"<"},"result":null,"error":null}`},
	} {
		raw := encode(one.item)
		if string(raw) != one.json {
			t.Errorf("got  %s\nwant %s", raw, one.json)
		}
		if item, ok := ReadItem(raw); !ok || item.ID != "i" {
			t.Errorf("%s is read as %+v", raw, item)
		}
	}
}

// A line keeps its layout when its text grows or shrinks.
func TestLayoutMovesWithItsText(t *testing.T) {
	t.Parallel()
	before := `{"id":1,"params":{"delta":"ab"},"method":"m"}`
	after := `{"id":1,"params":{"delta":"abcdef"},"method":"m"}`
	_, at, _ := LayoutOf([]byte(before))
	_, want, _ := LayoutOf([]byte(after))
	begins := 27 // of the text
	if got := at.Moved(begins, 4); got != want || at.Moved(begins, 4).Moved(begins, -4) != at {
		t.Errorf("%v moved is %v, want %v", at, got, want)
	}
	for _, none := range []string{``, `[]`, `{}`, `{"method":7}`, `{"method":"a"`, `null`} {
		if _, _, ok := LayoutOf([]byte(none)); ok {
			t.Errorf("%s has a method", none)
		}
	}
}

func TestPropertiesOfMethods(t *testing.T) {
	t.Parallel()
	for method, replaceable := range map[string]bool{
		"item/agentMessage/delta": true, "item/futureDelta": true, "item/future/delta": true, "turn/plan/updated": true,
		"item/started": false, "thread/realtime/outputAudio/delta": false, "turn/completed": false,
		"item/reasoning/summaryPartAdded": false,
	} {
		if got := Lookup(method).Replaceable; got != replaceable {
			t.Errorf("%s: %v", method, got)
		}
	}
	for name, m := range methods {
		if (m.Asks == "") != (m.Subject == "") || m.Broadcast && m.Alias == "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
