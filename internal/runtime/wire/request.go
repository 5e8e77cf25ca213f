package wire

import (
	"encoding/json"

	"harness/internal/runtime"
)

// Requested returns the content of a request to a user or to a client's tool; false when it cannot be answered.
func Requested(method string, params json.RawMessage) (asked runtime.InteractiveRequested, ok bool) {
	about := Lookup(method)
	if about.Asks == "" {
		return asked, false
	}
	asked = runtime.InteractiveRequested{Kind: about.Asks, Decisions: Offered(params), Asked: askedOf(method, params)}
	asked.Summary = summarise(method, params)
	return asked, true
}

// Offered returns the list of an approval's decisions, nil without one. A list longer than runtime.LongItem stays in
// the parameters only: the plain decisions apply.
func Offered(params json.RawMessage) json.RawMessage {
	offered := Members(params, "availableDecisions")[0]
	if len(offered) == 0 || offered[0] != '[' || len(offered) > runtime.LongItem {
		return nil
	}
	return offered
}

// summarise returns the summary line of a request.
func summarise(method string, params json.RawMessage) string {
	given := Members(params, "command", "questions", "tool", "reason", "message")
	command, questions, tool, reason, message := given[0], given[1], given[2], given[3], given[4]
	with := func(what string, detail ...json.RawMessage) string {
		said := words(detail).summaryLine()
		if said == "" {
			return what
		}
		return what + ": " + said
	}
	orElse := func(first, second json.RawMessage) json.RawMessage {
		if len(first) > 2 && first[0] == '"' {
			return first
		}
		return second
	}
	switch method {
	case MethodApproveCommand:
		return with("Command approval required", commandText(command)...)
	case MethodApproveFileChange:
		return "File change approval required"
	case MethodApprovePermissions:
		return with("Permissions approval required", reason)
	case MethodApproveTool:
		return with("Tool approval required", orElse(tool, reason))
	case MethodAskUser:
		return "Tool input required (" + counted(count(questions), "question") + ")"
	case MethodElicit:
		return with("Tool input required", message)
	case MethodCallTool:
		return with("Tool call requested", orElse(tool, json.RawMessage(`"unknown"`)))
	}
	return method
}
