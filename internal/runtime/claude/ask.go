package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// maxAsked bounds the open requests.
const maxAsked = 256

// question is stored with a request so that it can be answered, also after a restart (runtime.Asked.Context).
type question struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// ToolName is Tool in a long request, stored as Claude Code wrote it.
	ToolName string `json:"tool_name,omitempty"`
}

// keepContext stores the request itself: its arguments are too long for a second copy.
func keepContext(signals []runtime.Signal, request json.RawMessage) {
	for i := range signals {
		if change, ok := signals[i].Change.(runtime.InteractiveRequested); ok {
			change.Asked.Context = request
			signals[i].Change = change
		}
	}
}

// ask passes on an approval request of the agent.
func (t *translation) ask(e *event) {
	if e.RequestID == "" || len(e.RequestID) > runtime.MaxID {
		return
	}
	if t.Turn == "" { // a background agent may ask while no turn is running
		t.begin(e.RequestID)
		t.Over = true
	}
	id, _ := json.Marshal(e.RequestID) // a string always encodes
	about := wire.Asking{Place: t.here(), ItemID: e.Request.ToolUse, At: t.at}
	in := readInput(e.Request.Input)
	var reason *string
	if e.Request.Reason != "" && e.Request.Reason != askReason {
		reason = &e.Request.Reason
	}
	tool := e.Request.Tool
	var signal runtime.Signal
	switch {
	case tool == toolShell:
		signal = wire.ApproveCommand(id, about, in.Command, t.Cwd, reason)
	case edits(tool):
		signal = wire.ApproveFileChange(id, about, []wire.FileEdit{edit(tool, in, nil)}, reason)
	case tool == toolQuestion:
		signal = wire.AskUser(id, about, questions(in)...)
	case tool == toolNetwork:
		text := "Network access: " + in.Host
		about.ItemID = ""
		signal = wire.ApproveTool(id, about, tool, e.Request.Input, &text)
	case tool == toolPlan:
		text, shown := "Leave plan mode", e.Request.Input
		if call := t.call(e.Request.ToolUse); in.Plan == "" && call != nil { // the tool call published the plan
			shown = call.Input
			in.Plan = readInput(shown).Plan
		}
		signal = wire.ApproveTool(id, about, tool, arguments(shown), &text)
	default:
		signal = wire.ApproveTool(id, about, tool, arguments(e.Request.Input), reason)
	}
	if change, ok := signal.Change.(runtime.InteractiveRequested); ok {
		change.Asked.Context = encode(question{Tool: tool, Input: arguments(e.Request.Input)})
		if tool == toolNetwork {
			change.Asked.Subject, change.Summary = runtime.SubjectNetwork, "Network access approval required: "+
				wire.Clean(in.Host)
		} else if tool == toolPlan && in.Plan != "" {
			change.Summary = "Plan approval required: " + wire.Clean(in.Plan)
		}
		signal.Change = change
	}
	t.Asked = keep(t.Asked, maxAsked, asked{ID: e.RequestID, Call: e.Request.ToolUse, Rule: ruleOf(tool, in),
		Input: inputID(arguments(e.Request.Input))})
	t.emit(signal)
}

func arguments(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return json.RawMessage("{}")
	}
	return input
}

func questions(in toolInput) []wire.Question {
	var list []wire.Question
	for i, q := range in.Questions {
		one := wire.Question{ID: questionID(i), Header: q.Header, Question: q.Question, Options: []wire.Option{},
			IsOther: true, Multiple: q.Multiple}
		for _, o := range q.Options {
			one.Options = append(one.Options, wire.Option{Label: o.Label, Description: o.Description})
		}
		list = append(list, one)
	}
	return list
}

// questionID identifies a question of a request, where questions have no ids.
func questionID(i int) string { return fmt.Sprintf("q%d", i+1) }

// ruleOf returns the rule that an approval for the session allows; the zero rule when that is impossible.
func ruleOf(tool string, in toolInput) rule {
	switch {
	case tool == toolQuestion || tool == toolPlan:
		return rule{}
	case tool == toolShell:
		return rule{tool, short(in.Command)}
	case edits(tool):
		return rule{"Edit", short(in.path())}
	case tool == toolNetwork:
		return rule{tool, short(in.Host)}
	}
	return rule{Tool: short(tool)}
}

// short returns the remembered form of a text: itself, or a substitute if it is long.
func short(text string) string { return runtime.KnownID(text) }

// inputID identifies arguments, independent of their JSON format.
func inputID(input json.RawMessage) string {
	var value any
	_ = json.Unmarshal(input, &value) // invalid JSON becomes null
	return short(string(encode(value)))
}

// permits reports whether a user has allowed a tool use for the session.
func (s *state) permits(tool string, input json.RawMessage) bool {
	wanted := ruleOf(tool, readInput(input))
	return wanted.Tool != "" && slices.Contains(s.Allowed, wanted)
}

// answer is the server's answer as Claude Code repeats it.
type answer struct {
	Behavior string            `json:"behavior"`
	Updated  []json.RawMessage `json:"updatedPermissions"`
	// Input is the tool's input: the requested one, or the user's edit.
	Input json.RawMessage `json:"updatedInput"`
}

// readAnswer reads an answer. An invalid one allows nothing.
func readAnswer(response json.RawMessage) (given answer) {
	_ = json.Unmarshal(response, &given)
	if given.Behavior != "allow" {
		return answer{}
	}
	return given
}

// sessionRule returns the rule by which Claude Code allows a use for the session.
func sessionRule(tool string, in toolInput) json.RawMessage {
	type native struct {
		Tool string `json:"toolName"`
		What string `json:"ruleContent,omitempty"`
	}
	one := native{Tool: tool}
	switch {
	case tool == toolShell:
		one.What = in.Command
	case edits(tool):
		one = native{"Edit", "/" + in.path()} // "//" is the prefix of an absolute path
	case tool == toolNetwork:
		one = native{"WebFetch", "domain:" + in.Host}
	}
	return encode([]any{struct {
		Type        string   `json:"type"`
		Rules       []native `json:"rules"`
		Behavior    string   `json:"behavior"`
		Destination string   `json:"destination"`
	}{"addRules", []native{one}, "allow", "session"}})
}

// encode encodes types of this package, or JSON.
func encode(value any) json.RawMessage {
	return javascript.MustEncode(value)
}

// verdict is the answer to a permission request.
type verdict struct {
	Behavior  string          `json:"behavior"`
	Input     json.RawMessage `json:"updatedInput,omitempty"`
	Updated   json.RawMessage `json:"updatedPermissions,omitempty"`
	Message   string          `json:"message,omitempty"`
	Interrupt *bool           `json:"interrupt,omitempty"`
}

func denied(message string, interrupt bool) verdict {
	return verdict{Behavior: "deny", Message: cmp.Or(message, "The user refused this."), Interrupt: &interrupt}
}

// controlResponse returns the complete line that answers a request of the agent.
func controlResponse(requestID string, response any) []byte {
	type inner struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  any    `json:"response"`
	}
	return append(encode(struct {
		Type     string `json:"type"`
		Response inner  `json:"response"`
	}{"control_response", inner{"success", requestID, response}}), '\n')
}

// controlRefusal returns the complete line that refuses an unknown request of the agent.
func controlRefusal(requestID, why string) []byte {
	type inner struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Error     string `json:"error"`
	}
	return append(encode(struct {
		Type     string `json:"type"`
		Response inner  `json:"response"`
	}{"control_response", inner{"error", requestID, why}}), '\n')
}
