package mockmodel_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"harness/tests/mockmodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

type item = map[string]any

func user(text string) item {
	return item{"type": "message", "role": "user", "content": []item{{"type": "input_text", "text": text}}}
}

// ask sends one request and returns the status and the events in order.
func ask(t *testing.T, s *mockmodel.Server, tools []item, input ...item) (int, []item) {
	t.Helper()
	body, err := json.Marshal(item{"input": input, "tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t).Post(s.URL()+"/responses", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var events []item
	for line := range strings.Lines(string(raw)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var event item
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				t.Fatal(err)
			}
			events = append(events, event)
		}
	}
	return resp.StatusCode, events
}

// done returns the last finished output item.
func done(t *testing.T, events []item) item {
	t.Helper()
	if len(events) < 2 || events[len(events)-1]["type"] != "response.completed" {
		t.Fatalf("events are %v", events)
	}
	return events[len(events)-2]["item"].(item)
}

func message(t *testing.T, events []item) string {
	t.Helper()
	return done(t, events)["content"].([]any)[0].(item)["text"].(string)
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := mockmodel.Start(t)
	s.Release("free")
	for text, want := range map[string]string{
		"MOCK_REPLY[a [b] c] d":             "a [b] c",
		"please\nReply with exactly X Y\n.": "X Y",
		"MOCK_SLOW[3,1]":                    "word0 word1 word2 ",
		"MOCK_SLOW[2,1] MOCK_HOLD[free]":    "word0 word1 released free",
		"MOCK_REASON MOCK_REPLY[ok]":        "ok",
	} {
		status, events := ask(t, s, nil, user("MOCK_REPLY[old]"), user(text),
			user("<environment_context>x</environment_context>"))
		if status != http.StatusOK || message(t, events) != want {
			t.Errorf("%q: %d %v", text, status, events)
		}
		var deltas strings.Builder
		reasoned := false
		for _, e := range events {
			if e["type"] == "response.output_text.delta" {
				deltas.WriteString(e["delta"].(string))
			}
			reasoned = reasoned || e["type"] == "response.reasoning_summary_text.delta"
		}
		if deltas.String() != want || reasoned != strings.Contains(text, "MOCK_REASON") {
			t.Errorf("%q: deltas %q, reasoned %v", text, deltas.String(), reasoned)
		}
	}
	if status, _ := ask(t, s, nil, user("MOCK_HTTP_500")); status != http.StatusInternalServerError {
		t.Errorf("status %d", status)
	}
	if status, _ := ask(t, s, nil, user("MOCK_HTTP_400")); status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
	if got := len(s.Requests()); got != 7 {
		t.Errorf("%d requests recorded", got)
	}
}

func TestToolCallsFollowWhatIsOffered(t *testing.T) {
	t.Parallel()
	s := mockmodel.Start(t)
	function := func(name string) []item { return []item{{"type": "function", "name": name}} }
	for _, test := range []struct {
		text  string
		tools []item
		want  item
	}{
		{"MOCK_CMD[echo [x]]", function("exec_command"), item{"name": "exec_command", "arguments": `{"cmd":"echo [x]"}`}},
		{"MOCK_CMD[ls]", function("shell_command"), item{"name": "shell_command", "arguments": `{"command":"ls"}`}},
		{"MOCK_CMD[ls]", function("shell"), item{"name": "shell", "arguments": `{"command":["bash","-lc","ls"]}`}},
		{"MOCK_ESC[ls]", function("exec_command"),
			item{"arguments": `{"cmd":"ls","justification":"the mock model asks","sandbox_permissions":"require_escalated"}`}},
		{"MOCK_PATCH[f]", []item{{"type": "custom", "name": "apply_patch"}},
			item{"type": "custom_tool_call", "input": "*** Begin Patch\n*** Add File: f\n+hello from mock\n*** End Patch\n"}},
		{"MOCK_PATCH[f]", function("apply_patch"), item{"type": "function_call", "name": "apply_patch"}},
		{"MOCK_ASK", nil, item{"name": "request_user_input"}},
		{`MOCK_CALL[tool|{"a":["]"]}]END`, nil, item{"name": "tool", "arguments": `{"a":["]"]}`}},
	} {
		_, events := ask(t, s, test.tools, user(test.text))
		got := done(t, events)
		for key, want := range test.want {
			if got[key] != want {
				t.Errorf("%s: %s is %v", test.text, key, got[key])
			}
		}
	}
}

func TestOutputsAreQuotedAndRecorded(t *testing.T) {
	t.Parallel()
	s := mockmodel.Start(t)
	output := func(id string, v any) item { return item{"type": "function_call_output", "call_id": id, "output": v} }
	text := user("MOCK_CMD[a] then MOCK_ASK")
	_, events := ask(t, s, nil, text, output("c1", "first"))
	if done(t, events)["name"] != "request_user_input" {
		t.Errorf("second call is %v", events)
	}
	_, events = ask(t, s, nil, text, output("c1", "first"), output("c2", []item{{"type": "input_text", "text": "second"}}))
	if got := message(t, events); got != "Tool said: first\nsecond" {
		t.Errorf("message is %q", got)
	}
	if got := s.Outputs(); len(got) != 2 || got[1] != (mockmodel.Output{CallID: "c2", Text: "second"}) {
		t.Errorf("outputs are %v", got)
	}
	out, err := s.WaitOutput(t.Context(), func(o mockmodel.Output) bool { return o.Text == "second" })
	if err != nil || out.CallID != "c2" {
		t.Errorf("%v, %v", out, err)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	s := mockmodel.Start(t)
	answered := make(chan []item, 1)
	go func() {
		_, events := ask(t, s, nil, user("MOCK_HOLD[h]"))
		answered <- events
	}()
	r, err := s.WaitRequest(t.Context(), 1)
	if err != nil || r.UserText != "MOCK_HOLD[h]" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := s.WaitHeld(t.Context(), "h"); err != nil {
		t.Fatal(err)
	}
	select {
	case events := <-answered:
		t.Fatalf("not held: %v", events)
	default:
	}
	s.Release("h")
	s.Release("h")
	if got := message(t, <-answered); got != "holding released h" {
		t.Errorf("message is %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.WaitRequest(ctx, 9); err == nil {
		t.Error("there is no ninth request")
	}
	s.Close()
	s.Close()
}
