package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"harness/runtime"
)

// Requested is what a request asks a person or a client's tool; false when nobody can answer it.
func Requested(method string, params json.RawMessage) (asked runtime.InteractiveRequested, ok bool) {
	about := Lookup(method)
	if about.Asks == "" {
		return asked, false
	}
	asked = runtime.InteractiveRequested{Kind: about.Asks, Decisions: Offered(params), Asked: askedOf(method, params)}
	asked.Summary = summarise(method, params)
	return asked, true
}

// Offered is the list of decisions an approval offers, nil when it offers none.
func Offered(params json.RawMessage) json.RawMessage {
	var p struct {
		Decisions json.RawMessage `json:"availableDecisions"`
	}
	if json.Unmarshal(params, &p) != nil || !bytes.HasPrefix(p.Decisions, []byte("[")) {
		return nil
	}
	return p.Decisions
}

// summarise is the one line a request is shown by.
func summarise(method string, params json.RawMessage) string {
	var p struct {
		Command   json.RawMessage   `json:"command"`
		Questions []json.RawMessage `json:"questions"`
		Tool      string            `json:"tool"`
		Reason    string            `json:"reason"`
		Message   string            `json:"message"`
	}
	_ = json.Unmarshal(params, &p) // members of another type than expected are skipped
	with := func(what, detail string) string {
		if detail = Clean(detail); detail == "" {
			return what
		}
		return what + ": " + detail
	}
	switch method {
	case MethodApproveCommand:
		return with("Command approval required", commandText(p.Command))
	case MethodApproveFileChange:
		return "File change approval required"
	case MethodApprovePermissions:
		return with("Permissions approval required", p.Reason)
	case MethodApproveTool:
		return with("Tool approval required", firstOf(p.Tool, p.Reason))
	case MethodAskUser:
		return "Tool input required (" + counted(len(p.Questions), "question") + ")"
	case MethodElicit:
		return with("Tool input required", p.Message)
	case MethodCallTool:
		return with("Tool call requested", firstOf(p.Tool, "unknown"))
	}
	return method
}

// commandText reads a command given as text or as a list of words.
func commandText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return Clean(text)
	}
	var words []string
	_ = json.Unmarshal(raw, &words) // none when it is neither
	return Clean(strings.Join(words, " "))
}
