package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// result handles the end of a turn with its usage.
func (t *translation) result(e *event) {
	if t.Turn == "" {
		if len(e.Users) == 0 {
			return // it could not start: the handshake fails with the reason
		}
		t.begin(e.Users[0])
	}
	for _, id := range e.Users {
		t.paid(runtime.KnownID(id))
	}
	t.usage(e)
	if t.Owed != "" && t.Owed == t.Turn {
		return // background work of the agent ended, its message follows
	}
	turn := wire.Turn{Status: runtime.TurnDone}
	switch {
	case strings.HasPrefix(e.TerminalReason, "aborted") && t.Silent != "":
		turn.Status, turn.Error = runtime.TurnFailed, &wire.Failure{Message: t.Silent}
	case strings.HasPrefix(e.TerminalReason, "aborted"):
		turn.Status = runtime.TurnInterrupted
	case e.IsError:
		// Claude Code reports errors of the model's server as a success, with other members.
		said := e.Result
		if said == "" {
			said = strings.Join(e.Errors, "; ")
		}
		if said == "" {
			said = "Claude Code ended the turn with an error and did not say which."
		}
		turn.Status = runtime.TurnFailed
		kind := t.Failure
		if e.TerminalReason == "prompt_too_long" {
			kind = e.TerminalReason
		}
		why := failure(said, kind, e.APIStatus)
		turn.Error = &why
	}
	if turn.Status == runtime.TurnDone && len(t.Asked) > 0 {
		t.Over = true // a background agent still has a request, which would end with the turn
		return
	}
	t.end(turn)
}

// end ends the turn, with its open calls and requests.
func (t *translation) end(turn wire.Turn) {
	for _, call := range t.Tools {
		if !call.Silent {
			t.emit(wire.ItemCompleted(t.here(), t.tool(call, wire.StatusFailed, nil), t.at))
		}
	}
	turn.ID, turn.StartedAt, turn.CompletedAt = t.Turn, t.Began, t.at
	t.emit(wire.TurnCompleted(t.Thread, turn))
	t.Turn, t.Began, t.Message, t.Blocks, t.Tools, t.Asked, t.Failure, t.Over, t.Silent, t.Diff =
		"", 0, "", nil, nil, nil, "", false, "", ""
}

func (t *translation) usage(e *event) {
	if len(e.Used) == 0 {
		return
	}
	last, window := e.Used.tokens()
	total, _ := e.UsedInAll.tokens()
	t.emit(wire.TokenUsageOf(t.here(), t.Runs, total, last, window))
}

// tokens returns the sum over the models; window is their largest context. Claude Code counts cached input
// separately.
func (u usage) tokens() (sum wire.Tokens, window int64) {
	for _, used := range u {
		input := used.Input + used.CacheRead + used.CacheWrite
		sum.Input += input
		sum.Cached += used.CacheRead
		sum.Output += used.Output
		sum.Reasoning += used.Thinking
		sum.Total += input + used.Output
		window = max(window, used.Window)
	}
	return sum, window
}

// failure returns an error by Claude Code's name for it and the HTTP status of the model's server, 0 for none.
func failure(message, name string, status int) wire.Failure {
	kind := ""
	switch {
	case name == "prompt_too_long":
		kind = "contextWindowExceeded"
	case status == 401 || status == 403 ||
		slices.Contains([]string{"authentication_failed", "oauth_org_not_allowed"}, name):
		kind = "unauthorized"
	case status == 429 || slices.Contains([]string{"rate_limit", "billing_error"}, name):
		kind = "usageLimitExceeded"
	case status == 529 || name == "overloaded":
		kind = "serverOverloaded"
	case status >= 500 || name == "server_error":
		kind = "internalServerError"
	case status >= 400 || name == "invalid_request":
		kind = "badRequest"
	}
	out := wire.Failure{Message: message, Status: status}
	if name == "billing_error" && status == 0 {
		out.Status = 402
	}
	if kind != "" {
		out.Kind = json.RawMessage(fmt.Sprintf("%q", kind))
	}
	return out
}
