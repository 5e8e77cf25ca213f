package codex

import (
	"encoding/json"
	"fmt"

	"harness/runtime"
	"harness/runtime/wire"
)

// asked puts a request, by the name the vocabulary has for it, into neutral words.
func asked(method string, params, decisions json.RawMessage) runtime.Asked {
	var p struct {
		Command   json.RawMessage `json:"command"`
		Network   json.RawMessage `json:"networkApprovalContext"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(params, &p)
	a := runtime.Asked{Options: options(decisions)}
	switch method {
	case wire.MethodApproveCommand:
		a.Subject, a.Tool, a.Arguments = runtime.SubjectCommand, "shell", arguments(params, "command", "cwd")
		if len(p.Network) > 0 && string(p.Network) != "null" {
			a.Subject, a.Tool, a.Arguments = runtime.SubjectNetwork, "", p.Network
		}
	case wire.MethodApproveFileChange:
		a.Subject, a.Arguments = runtime.SubjectFileChange, arguments(params, "fileChanges", "grantRoot")
	case wire.MethodApprovePermissions:
		a.Subject, a.Arguments = runtime.SubjectPermissions, arguments(params, "permissions")
	case wire.MethodElicit:
		e := elicitationOf(params)
		a.Subject, a.Tool = runtime.SubjectForm, wire.Clean(e.ServerName)
		if e.approval() {
			a.Subject, a.Tool, a.Arguments = runtime.SubjectTool, wire.Clean(e.ServerName+"/"+e.Meta.ToolName), e.Meta.Arguments
		}
	case wire.MethodAskUser:
		a.Subject = runtime.SubjectQuestion
	case wire.MethodCallTool:
		a.Subject, a.Tool, a.Arguments = runtime.SubjectTool, wire.Clean(p.Tool), p.Arguments
	}
	return a
}

// arguments are the members of params a person decides about, nil when it has none of them.
func arguments(params json.RawMessage, names ...string) json.RawMessage {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(params, &given)
	kept := map[string]json.RawMessage{}
	for _, name := range names {
		if value, ok := given[name]; ok && string(value) != "null" {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	out, _ := encode(kept) // what was decoded encodes again
	return out
}

// options are offered decisions by name. A decision that is an object is named by its one member, a second one of a name gets a number.
func options(decisions json.RawMessage) []runtime.Option {
	var choices []json.RawMessage
	_ = json.Unmarshal(decisions, &choices) // none when there are none
	var out []runtime.Option
	seen := map[string]int{}
	for _, choice := range choices {
		name := choiceName(choice)
		if name == "" {
			continue
		}
		option := runtime.Option{ID: name, Label: labels[name], Decision: meaning(choice), Scope: "turn"}
		if seen[name]++; seen[name] > 1 {
			option.ID = fmt.Sprintf("%s-%d", name, seen[name])
		}
		if option.Label == "" {
			option.Label = name
		}
		if name != actionAccept && option.Decision == actionAccept {
			option.Scope = "session"
		}
		out = append(out, option)
	}
	return out
}

// labels say what codex's decisions do.
var labels = map[string]string{
	actionAccept: "Allow once", "acceptForSession": "Allow for this session", actionDecline: "Refuse", actionCancel: "Refuse and end the turn",
	"acceptWithExecpolicyAmendment": "Allow, and commands like it from now on", "applyNetworkPolicyAmendment": "Change the network policy",
}

func choiceName(choice json.RawMessage) string {
	var word string
	if json.Unmarshal(choice, &word) == nil {
		return word
	}
	var object map[string]json.RawMessage
	_ = json.Unmarshal(choice, &object)
	for name := range object {
		if len(object) == 1 {
			return name
		}
	}
	return ""
}

// choiceOf is the offered decision an option stands for, nil when there is none of that id.
func choiceOf(decisions json.RawMessage, id string) json.RawMessage {
	var choices []json.RawMessage
	_ = json.Unmarshal(decisions, &choices)
	named := 0
	for _, option := range options(decisions) {
		for choiceName(choices[named]) == "" {
			named++
		}
		if option.ID == id {
			return choices[named]
		}
		named++
	}
	return nil
}
