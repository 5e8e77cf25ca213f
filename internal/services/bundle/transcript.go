package bundle

import (
	"encoding/json"

	"harness/internal/services/tasks"
)

// Transcript is everything recorded about one attempt of a tool call.
type Transcript struct {
	CallID    string `json:"tool_call_id"`
	Native    string `json:"runtime_tool_call_id,omitempty"`
	Attempt   int    `json:"attempt"`
	InputHash string `json:"input_hash"`
	TaskID    string `json:"task_id"`
	Name      string `json:"name"`
	// Input is the call's input. Evaluated are the opinions about it. Decision is approved or denied, "" before the
	// decision, with its Actor and Reason.
	Input     json.RawMessage   `json:"input,omitempty"`
	Evaluated []json.RawMessage `json:"policy_evaluated"`
	Decision  string            `json:"decision,omitempty"`
	Actor     string            `json:"actor,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Started   bool              `json:"started"`
	// Stdout and Stderr are its output, from deltas or the complete text.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Completed is the payload of its last event: who ran it and where, the sandbox, the result or a reference to it,
	// the exit code.
	Completed json.RawMessage `json:"completed,omitempty"`
	ExitCode  json.RawMessage `json:"exit_code,omitempty"`
	IsError   bool            `json:"is_error"`
}

// callMembers are the members of call events that a Transcript uses.
type callMembers struct {
	CallID    string          `json:"tool_call_id"`
	Native    string          `json:"runtime_tool_call_id"`
	Attempt   int             `json:"attempt"`
	InputHash string          `json:"input_hash"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Actor     string          `json:"actor"`
	Reason    string          `json:"reason"`
	Stream    string          `json:"stream"`
	Delta     string          `json:"delta"`
	Stdout    string          `json:"stdout"`
	Stderr    string          `json:"stderr"`
	ExitCode  json.RawMessage `json:"exit_code"`
	IsError   bool            `json:"is_error"`
}

// Transcripts returns the transcripts of a session's events: one for each attempt of a call, in the order they began.
func Transcripts(events []tasks.Event) []*Transcript {
	type attempt struct {
		id     string
		number int
		task   string
	}
	all := []*Transcript{}
	known := map[attempt]*Transcript{}
	for _, e := range events {
		var t callMembers
		if json.Unmarshal(e.Payload, &t) != nil || t.CallID == "" {
			continue
		}
		key := attempt{t.CallID, t.Attempt, e.Trace.TaskID}
		one := known[key]
		if one == nil {
			one = &Transcript{CallID: t.CallID, Attempt: t.Attempt, InputHash: t.InputHash, TaskID: e.Trace.TaskID,
				Evaluated: []json.RawMessage{}}
			known[key], all = one, append(all, one)
		}
		one.add(e.Type, t, e.Payload)
	}
	return all
}

func (t *Transcript) add(kind string, members callMembers, payload json.RawMessage) {
	if members.Name != "" {
		t.Name = members.Name
	}
	if members.Native != "" {
		t.Native = members.Native
	}
	switch kind {
	case tasks.CallRequested:
		t.Input = members.Input
	case tasks.CallEvaluated:
		t.Evaluated = append(t.Evaluated, payload)
	case tasks.CallApproved, tasks.CallDenied:
		t.Decision, t.Actor, t.Reason = "approved", members.Actor, members.Reason
		if kind == tasks.CallDenied {
			t.Decision = "denied"
		}
	case tasks.CallStarted:
		t.Started = true
	case tasks.CallOutput:
		if members.Stream == "stderr" {
			t.Stderr += members.Delta
		} else {
			t.Stdout += members.Delta
		}
	case tasks.CallSaid:
		if members.Stdout != "" {
			t.Stdout = members.Stdout
		}
		if members.Stderr != "" {
			t.Stderr = members.Stderr
		}
	case tasks.CallCompleted:
		t.Completed, t.ExitCode, t.IsError = payload, members.ExitCode, members.IsError
	}
}
