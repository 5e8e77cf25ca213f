package tasks_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/services/tasks"
	"harness/stream"
)

// turn returns the records of a turn another client began, with an item in it ("" for none) and an end.
func turn(t *testing.T, item, ending string) (records []journal.Record) {
	t.Helper()
	lines := []string{`{"method":"turn/started","params":{"threadId":"s","turn":{"id":"t","status":"inProgress","items":[]}}}`,
		item, `{"method":"turn/completed","params":{"threadId":"s","turn":{"id":"t",` + ending + `,"items":[]}}}`}
	for _, line := range lines {
		if line == "" {
			continue
		}
		one, ok := record([]byte(line), int64(len(records)+1))
		if !ok {
			t.Fatalf("%s is no line of the vocabulary", line)
		}
		records = append(records, one)
	}
	return records
}

// RA-25, EV-22: a failure has a code, the runtime and its own message, whether a retry helps, and a remedy if one is
// known.
func TestTheCodesOfFailures(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]struct {
		code      string
		retryable bool
		recovery  bool
	}{
		`"contextWindowExceeded"`: {tasks.CodeContext, false, true},
		`"usageLimitExceeded"`:    {tasks.CodeRate, true, false},
		`"serverOverloaded"`:      {tasks.CodeModel, true, false},
		`"unauthorized"`:          {tasks.CodeAuth, false, false},
		`"other"`:                 {tasks.CodeRuntime, false, false},
		`null`:                    {tasks.CodeRuntime, false, false},
	} {
		events := tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded", CreatedAt: 1},
			turn(t, "", `"status":"failed","error":{"message":"in its words","codexErrorInfo":`+info+`}`))
		check(t, events)
		last := events[len(events)-1]
		var failure tasks.Failure
		if err := json.Unmarshal(last.Payload, &failure); err != nil || last.Type != tasks.TaskFailed {
			t.Fatalf("%s ends with %s %s (%v)", info, last.Type, last.Payload, err)
		}
		if failure.Code != want.code || failure.Retryable != want.retryable || failure.Message != "in its words" ||
			failure.Runtime != "recorded" || len(failure.Raw) == 0 || want.recovery && failure.Recovery == "" {
			t.Errorf("%s is reported as %+v", info, failure)
		}
	}
}

// EV-17, EV-18: a tool's input has the same hash whatever the order of its members and the form of its numbers. The
// hash names its algorithm, and other input has another hash.
func TestTheSameInputHasTheSameHash(t *testing.T) {
	t.Parallel()
	hashOf := func(input string) string {
		t.Helper()
		item := fmt.Sprintf(
			`{"method":"item/started","params":{"threadId":"s","turnId":"t","item":{"type":"mcpToolCall","id":"c",`+
				`"server":"other","tool":"x","status":"inProgress","arguments":%s}}}`, input)
		for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded"},
			turn(t, item, `"status":"completed"`)) {
			var call struct {
				Hash string `json:"input_hash"`
			}
			if e.Type == tasks.CallRequested {
				if err := json.Unmarshal(e.Payload, &call); err != nil {
					t.Fatal(err)
				}
				return call.Hash
			}
		}
		t.Fatalf("a call with %s has no event", input)
		return ""
	}
	// The hashes match the recorded daemon's.
	for want, inputs := range map[string][]string{
		"sha256:95cd7e2b5e4ff063f6160b07efe87302f68600da8aaa037dbb454ab473ffd81f": {`{"path":"hello.txt"}`,
			`{ "path" : "hello\u002etxt" }`},
		"sha256:d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772": {`{"b":1,"a":2}`, `{"a":2.0,"b":1}`,
			`{"b":1e0,"a":2}`},
		"sha256:3f45cfadd7bb861c276404960c0ddcb1c9e409483fb0542de2aa500b99559088": {`{"a":{"z":1,"y":[{"c":1,"b":2}]}}`,
			`{"a":{"y":[{"b":2,"c":1}],"z":1}}`},
	} {
		for _, input := range inputs {
			if got := hashOf(input); got != want {
				t.Errorf("%s has the hash %s, want %s", input, got, want)
			}
		}
	}
	if hashOf(`{"a":[1,2]}`) == hashOf(`{"a":[2,1]}`) {
		t.Error("other input has the same hash")
	}
}

// TL-10: a pending call of a tool of this server is denied when its task ends, with all opinions about it.
func TestPendingCallKeepsItsOpinions(t *testing.T) {
	t.Parallel()
	ends := turn(t, "", `"status":"interrupted"`)
	records := ends[:1:1]
	const call = `{"tool_call_id":"c","attempt":1,"input_hash":"sha256:0"`
	records = append(records, journal.Record{Seq: 2, Event: journal.Event{SessionID: "s", Type: tasks.CallRequested,
		Payload: []byte(call + `,"name":"a.tool","input":{}}`)}}, journal.Record{Seq: 3, Event: journal.Event{SessionID: "s",
		Type:    tasks.CallEvaluated,
		Payload: []byte(call + `,"source":"harness","result":"ask","rule":"permission_mode:ask"}`)}})
	events := tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded"}, append(records, ends[1:]...))
	check(t, events)
	for _, e := range events {
		if e.Type != tasks.CallDenied {
			continue
		}
		var denied struct {
			Snapshot struct {
				Sources []struct{ Rule string }
			} `json:"policy_snapshot"`
		}
		if err := json.Unmarshal(e.Payload, &denied); err != nil || len(denied.Snapshot.Sources) != 2 ||
			denied.Snapshot.Sources[0].Rule != "permission_mode:ask" {
			t.Errorf("it is denied with %s (%v)", e.Payload, err)
		}
		return
	}
	t.Error("it is not denied")
}

// A call that fails while its approval is pending has not run, whatever its runtime reports: it is denied, and the task
// is stopped. A call that was approved before has run.
func TestACallThatFailsWhileItWaitsIsDenied(t *testing.T) {
	t.Parallel()
	const item = `"threadId":"s","turnId":"t","item":{"type":"commandExecution","id":"i","command":"touch x","cwd":"/","exitCode":null,`
	lines := []string{`{"method":"turn/started","params":{"threadId":"s","turn":{"id":"t","status":"inProgress","items":[]}}}`,
		`{"method":"item/started","params":{` + item + `"status":"inProgress"}}}`,
		`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"s","turnId":"t",` +
			`"itemId":"i","command":"touch x","cwd":"/"}}`,
		`{"method":"item/completed","params":{` + item + `"status":"failed","aggregatedOutput":"The call was aborted"}}}`,
		`{"method":"turn/completed","params":{"threadId":"s","turn":{"id":"t","status":"interrupted","items":[]}}}`}
	for _, allowed := range []bool{false, true} {
		var records []journal.Record
		for _, line := range lines {
			one, ok := record([]byte(line), int64(len(records)+1))
			if !ok {
				t.Fatalf("%s is no line of the vocabulary", line)
			}
			records = append(records, one)
			if answer, is := settled(one, 0); is && allowed && one.Type == stream.EventRequest {
				answer.Seq = int64(len(records) + 1)
				records = append(records, answer)
			}
		}
		events := tasks.Events(tasks.About{SessionID: "s", Runtime: "recorded"}, records)
		check(t, events)
		seen := map[string]int{}
		for _, e := range events {
			seen[e.Type]++
			if e.Type == tasks.CallDenied && !strings.Contains(string(e.Payload), "the runtime did not run it: The call was aborted") {
				t.Errorf("it is denied with %s", e.Payload)
			}
		}
		ran := seen[tasks.CallApproved] + seen[tasks.CallStarted] + seen[tasks.CallCompleted]
		if allowed && (ran != 3 || seen[tasks.CallDenied] > 0) || !allowed && (ran > 0 || seen[tasks.CallDenied] != 1) {
			t.Errorf("allowed: %t; the events are %v", allowed, seen)
		}
	}
}
