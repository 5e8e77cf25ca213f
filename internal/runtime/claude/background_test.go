package claude

import (
	"encoding/json"
	"testing"

	"harness/internal/runtime"
)

// Background work is published with the turn that started it and the command of its call, always the complete list.
// Work beyond the remembered number still counts.
func TestBackgroundTasksArePublished(t *testing.T) {
	t.Parallel()
	s := state{Thread: "thread"}
	var last []runtime.BackgroundTask
	for i, line := range []string{
		`{"type":"system","subtype":"status","status":"requesting","uuid":"0d0f7a4e-9f52-4a6b-8a1c-111111111111"}`,
		`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"call","name":"Bash","input":{"command":"sleep 9"}}]}}`,
		`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"nap"}]}`,
		`{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"call"}`,
		`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash","description":"nap"},` +
			`{"task_id":"b2","task_type":"local_agent","description":"look"},{"task_id":"b3","task_type":"local_monitor"}]}`,
	} {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, signal := range s.translate(&e, int64(1000+i)) {
			if change, is := signal.Change.(runtime.BackgroundChanged); is {
				last = change.Tasks
			}
		}
	}
	turn := s.Turn
	want := []runtime.BackgroundTask{
		{ID: "b1", Kind: runtime.BackgroundCommand, Command: "sleep 9", TurnID: turn, ItemID: "call", StartedAt: 1002, CanEnd: true},
		{ID: "b2", Kind: runtime.BackgroundAgent, Command: "look", TurnID: turn, StartedAt: 1004, CanEnd: true},
		{ID: "b3", Kind: runtime.BackgroundMonitor, Command: "local_monitor", TurnID: turn, StartedAt: 1004, CanEnd: true},
	}
	if len(last) != len(want) || turn == "" || s.Background != 3 {
		t.Fatalf("of turn %q it says %+v", turn, last)
	}
	for i := range want {
		if last[i] != want[i] {
			t.Errorf("task %d is %+v, not %+v", i, last[i], want[i])
		}
	}
}
