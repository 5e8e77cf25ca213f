package mockmodel_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"harness/tests/mockmodel"
)

// send sends one request of the Messages API and returns the status, the text and the tool call of the
// answer.
func send(t *testing.T, s *mockmodel.Server, tools []string, messages ...item) (status int, text string, call item) {
	t.Helper()
	offered := []item{}
	for _, name := range tools {
		offered = append(offered, item{"name": name})
	}
	body, err := json.Marshal(item{"messages": messages, "tools": offered, "stream": true})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client(t).Post(s.Root()+"/v1/messages", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return resp.StatusCode, string(raw), nil
	}
	last := ""
	for line := range strings.Lines(string(raw)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Type  string
			Block item `json:"content_block"`
			Delta struct {
				Text    string
				Partial string `json:"partial_json"`
			}
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
		last = event.Type
		text += event.Delta.Text
		if event.Block["type"] == "tool_use" {
			call = event.Block
		}
		if event.Delta.Partial != "" {
			call["arguments"] = event.Delta.Partial
		}
	}
	if last != "message_stop" {
		t.Errorf("the answer ends with %q", last)
	}
	return resp.StatusCode, text, call
}

func says(parts ...item) item { return item{"role": "user", "content": parts} }

func words(text string) item { return item{"type": "text", "text": text} }

func TestMessagesAPI(t *testing.T) {
	t.Parallel()
	s := mockmodel.Start(t)
	tools := []string{"Bash", "Write", "AskUserQuestion"}
	reminder := words("<system-reminder>MOCK_REPLY[no]</system-reminder>")
	if _, text, _ := send(t, s, tools, says(reminder, words("MOCK_REASON MOCK_REPLY[ok]"), reminder)); text != "ok" {
		t.Errorf("it said %q", text)
	}
	if _, _, call := send(t, s, tools, says(words("MOCK_CMD[ls]"))); call["name"] != "Bash" ||
		!strings.Contains(call["arguments"].(string), `"command":"ls"`) {
		t.Errorf("it called %v", call)
	}
	result := item{"type": "tool_result", "tool_use_id": "x", "content": []item{words("listed")}}
	if _, _, call := send(t, s, tools, says(words("MOCK_CMD[ls] MOCK_PATCH[f]")), says(result)); call["name"] != "Write" {
		t.Errorf("it called %v", call)
	}
	if _, text, _ := send(t, s, tools, says(words("MOCK_CMD[ls]")), says(result)); text != "Tool said: listed" {
		t.Errorf("it said %q", text)
	}
	if status, text, _ := send(t, s, tools, says(words("MOCK_HTTP_429"))); status != http.StatusTooManyRequests ||
		!strings.Contains(text, "rate_limit_error") {
		t.Errorf("%d %s", status, text)
	}
	before := len(s.Requests())
	if _, text, _ := send(t, s, nil, says(words("MOCK_HTTP_500"))); text != "Mock title" || len(s.Requests()) != before {
		t.Errorf("a side request was answered with %q", text)
	}
}
