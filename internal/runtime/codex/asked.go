package codex

import (
	"encoding/json"
	"fmt"

	"harness/internal/runtime"
)

// options returns the offered decisions by name. A decision that is an object has the name of its single member; a
// repeated name gets a number.
func options(decisions json.RawMessage) []runtime.Option {
	var choices []json.RawMessage
	_ = json.Unmarshal(decisions, &choices) // invalid JSON has none
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

// labels describe codex's decisions.
var labels = map[string]string{
	actionAccept: "Allow once", "acceptForSession": "Allow for this session", actionDecline: "Refuse",
	actionCancel: "Refuse and end the turn", "acceptWithExecpolicyAmendment": "Allow, and commands like it from now on",
	"applyNetworkPolicyAmendment": "Change the network policy",
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

// choiceOf returns the offered decision of an option, nil for an unknown id.
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
