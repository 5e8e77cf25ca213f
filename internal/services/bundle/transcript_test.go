package bundle_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/services/bundle"
	"harness/internal/services/tasks"
)

// OB-09: each attempt of a call has a separate transcript, even a denied one. It has the output on both streams, the
// exit code and the decider.
func TestEveryAttemptHasATranscript(t *testing.T) {
	t.Parallel()
	event := func(kind string, attempt, members string) tasks.Event {
		return tasks.Event{Type: kind, Trace: tasks.Trace{TaskID: "t"}, Payload: json.RawMessage(
			`{"tool_call_id":"c","attempt":` + attempt + `,"input_hash":"sha256:0"` + members + `}`)}
	}
	got := bundle.Transcripts([]tasks.Event{
		{Type: tasks.TaskStarted, Payload: json.RawMessage(`{"messages":[]}`)},
		event(tasks.CallRequested, "1", `,"name":"a.tool","input":{"x":1}`),
		event(tasks.CallEvaluated, "1", `,"source":"harness","result":"ask"`),
		event(tasks.CallDenied, "1", `,"name":"a.tool","reason":"not now","actor":"me"`),
		event(tasks.CallRequested, "2", `,"name":"a.tool","input":{"x":1}`),
		event(tasks.CallEvaluated, "2", `,"source":"user","result":"allow"`),
		event(tasks.CallApproved, "2", `,"actor":"you","reason":"go on"`),
		event(tasks.CallStarted, "2", ``),
		event(tasks.CallOutput, "2", `,"stream":"stdout","delta":"one "`),
		event(tasks.CallOutput, "2", `,"stream":"stderr","delta":"bad"`),
		event(tasks.CallOutput, "2", `,"stream":"stdout","delta":"two"`),
		event(tasks.CallCompleted, "2", `,"name":"a.tool","executed_by":"harness","exit_code":3,"is_error":true`),
	})
	if len(got) != 2 {
		t.Fatalf("there are %d transcripts", len(got))
	}
	first, second := got[0], got[1]
	if first.Decision != "denied" || first.Reason != "not now" || first.Actor != "me" || first.Started ||
		len(first.Evaluated) != 1 ||
		string(first.Input) != `{"x":1}` {
		t.Errorf("the first attempt is %+v", first)
	}
	if second.Decision != "approved" || second.Actor != "you" || second.Stdout != "one two" || second.Stderr != "bad" ||
		string(second.ExitCode) != "3" || !second.IsError || !second.Started || second.Attempt != 2 {
		t.Errorf("the second attempt is %+v", second)
	}
}

// A file that is not a bundle, or has another format, is refused with the reason.
func TestWhatIsNoBundleIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := bundle.Read(strings.NewReader("plain text")); err == nil || !strings.Contains(err.Error(), "no bundle") {
		t.Errorf("a text is read: %v", err)
	}
	if _, err := bundle.Read(bytes.NewReader(nil)); err == nil {
		t.Error("nothing is read")
	}
}
