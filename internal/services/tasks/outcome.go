package tasks

import (
	"cmp"
	"encoding/json"
	"errors"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// interrupted is the reason of a task whose turn was interrupted without a stop of the task.
const interrupted = "interrupted"

// outcomeOf returns the outcome of a task from its ended turn.
func outcomeOf(runtimeName string, turn runtime.Turn) Outcome {
	switch turn.Status {
	case runtime.TurnFailed:
		return Outcome{Status: Failed, Failure: failureOf(runtimeName, turn)}
	case runtime.TurnInterrupted:
		if turn.Error == "" {
			return Outcome{Status: Stopped, Reason: interrupted}
		}
		return Outcome{Status: Failed, Failure: &Failure{Code: CodeInterrupted, Message: turn.Error, Retryable: true,
			Runtime: runtimeName, Recovery: turn.Remedy}}
	case runtime.TurnDone, runtime.TurnInProgress:
	}
	return Outcome{Status: Completed, Reason: "the turn ended"}
}

// failureOf returns the failure of a turn, from its runtime's report.
func failureOf(runtimeName string, turn runtime.Turn) *Failure {
	raw := wire.Known(wire.Members(turn.Native, "error")[0])
	f := &Failure{Code: CodeRuntime, Message: cmp.Or(turn.Error, "the turn failed, and the runtime did not say why"),
		Raw: raw, Runtime: runtimeName, Recovery: turn.Remedy}
	switch {
	case errors.Is(turn.Kind, runtime.ErrAuthRequired):
		f.Code = CodeAuth
	case errors.Is(turn.Kind, runtime.ErrTooLarge):
		f.Code = CodeContext
		f.Recovery = cmp.Or(f.Recovery, "say it in fewer words, have the agent sum up what was said before, or open another session")
	case errors.Is(turn.Kind, runtime.ErrLimitReached):
		f.Code, f.Retryable = CodeRate, true
	case errors.Is(turn.Kind, runtime.ErrTransient):
		f.Code, f.Retryable = CodeModel, true
	}
	return f
}

// failed returns the outcome of a task without a turn.
func failed(runtimeName, code string, retryable bool, err error) Outcome {
	return Outcome{Status: Failed, Failure: &Failure{Code: code, Message: valid(err.Error()), Retryable: retryable,
		Runtime: runtimeName}}
}

func encodeOutcome(o Outcome) string { return string(encode(o)) }

func decodeOutcome(text string) *Outcome {
	var o Outcome
	if text == "" || json.Unmarshal([]byte(text), &o) != nil {
		return nil
	}
	return &o
}
