package tasks_test

import (
	"encoding/json"
	"testing"

	"harness/internal/services/tasks"
)

// requireTranscript compares the transcript of events with the events. Every attempt of a call has one use and, unless
// its task is still running, one result. The result of a denied call is an error with its reason. Every completed
// output is there once.
func requireTranscript(t *testing.T, events []tasks.Event) (uses, denials int) {
	t.Helper()
	said := tasks.Transcript(events)
	if again := tasks.Transcript(events); string(mustEncode(t, again)) != string(mustEncode(t, said)) {
		t.Errorf("the same events give another transcript")
	}
	type attempt struct {
		task, call string
		number     int
	}
	open, outputs, last := map[attempt]bool{}, 0, int64(0)
	for _, one := range said {
		if one.Seq < last || one.TaskID == "" || len(one.Content) == 0 {
			t.Errorf("after event %d: %+v", last, one)
		}
		last = one.Seq
		var block struct {
			Type    string          `json:"type"`
			Call    string          `json:"tool_call_id"`
			Attempt int             `json:"attempt"`
			Name    string          `json:"name"`
			Input   json.RawMessage `json:"input"`
			IsError bool            `json:"is_error"`
			Reason  string          `json:"reason"`
		}
		if err := json.Unmarshal(one.Content[0], &block); err != nil {
			t.Errorf("%v: %s", err, one.Content[0])
		}
		key := attempt{one.TaskID, block.Call, block.Attempt}
		_, used := open[key]
		switch {
		case one.Role == "assistant" && block.Type == "tool_use":
			if used || block.Call == "" || block.Name == "" || len(block.Input) == 0 {
				t.Errorf("call %s of event %d (used before: %t)", one.Content[0], one.Seq, used)
			}
			open[key], uses = true, uses+1
		case one.Role == "tool":
			if !open[key] || block.Type != "tool_result" || block.Reason != "" && !block.IsError {
				t.Errorf("result %s of event %d of a call that is open: %t", one.Content[0], one.Seq, open[key])
			}
			open[key] = false
			if block.Reason != "" {
				denials++
			}
		case one.Role == "assistant":
			outputs++
		}
	}
	over := map[string]bool{}
	for _, e := range events {
		switch e.Type {
		case tasks.OutputCompleted:
			outputs--
		case tasks.TaskCompleted, tasks.TaskFailed, tasks.TaskStopped:
			over[e.Trace.TaskID] = true
		}
	}
	for key, waits := range open {
		if waits && over[key.task] {
			t.Errorf("call %+v has no result", key)
		}
	}
	if outputs != 0 {
		t.Errorf("the transcript has %d outputs more than were completed", outputs)
	}
	return uses, denials
}

func mustEncode(t *testing.T, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// EV-20: the user's messages, the assistant's, a call that ran and a denied one, each once.
func TestTranscriptOfEvents(t *testing.T) {
	t.Parallel()
	event := func(seq int64, kind, payload string) tasks.Event {
		return tasks.Event{Seq: seq, Type: kind, Trace: tasks.Trace{TaskID: "t"}, Payload: json.RawMessage(payload)}
	}
	said := tasks.Transcript([]tasks.Event{
		event(1, tasks.SessionCreated, `{}`),
		event(2, tasks.TaskStarted, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`),
		event(3, tasks.ModelInput, `{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`),
		event(4, tasks.OutputDelta, `{"block_id":"b","delta":"he"}`),
		event(5, tasks.OutputCompleted, `{"content":[{"block_id":"b","type":"text","text":"hello"}]}`),
		event(6, tasks.CallRequested, `{"tool_call_id":"c","attempt":1,"input_hash":"sha256:x","name":"run","input":{"a":1}}`),
		event(7, tasks.CallDenied, `{"tool_call_id":"c","attempt":1,"name":"run","reason":"not now"}`),
		event(8, tasks.CallRequested, `{"tool_call_id":"c","attempt":2,"input_hash":"sha256:x","name":"run","input":{"a":1}}`),
		event(9, tasks.CallCompleted, `{"tool_call_id":"c","attempt":2,"is_error":false,"result_preview":{"out":"ok"}}`),
		event(10, tasks.TaskCompleted, `{}`),
	})
	const want = `[{"role":"user","seq":2,"task_id":"t","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","seq":5,"task_id":"t","content":[{"block_id":"b","type":"text","text":"hello"}]},` +
		`{"role":"assistant","seq":6,"task_id":"t","content":[{"type":"tool_use","tool_call_id":"c","attempt":1,"name":"run","input":{"a":1}}]},` +
		`{"role":"tool","seq":7,"task_id":"t","content":[{"type":"tool_result","tool_call_id":"c","attempt":1,"is_error":true,"reason":"not now"}]},` +
		`{"role":"assistant","seq":8,"task_id":"t","content":[{"type":"tool_use","tool_call_id":"c","attempt":2,"name":"run","input":{"a":1}}]},` +
		`{"role":"tool","seq":9,"task_id":"t","content":[{"type":"tool_result","tool_call_id":"c","attempt":2,"is_error":false,` +
		`"result_preview":{"out":"ok"}}]}]`
	if got := string(mustEncode(t, said)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
