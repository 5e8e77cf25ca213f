package runtime

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Subject is what an interactive request is about.
type Subject string

// The subjects of interactive requests.
const (
	SubjectCommand     Subject = "command"     // may it run a command
	SubjectFileChange  Subject = "fileChange"  // may it change files
	SubjectNetwork     Subject = "network"     // may it reach a host
	SubjectPermissions Subject = "permissions" // may it do more than its sandbox allows
	SubjectTool        Subject = "tool"        // may it use a tool, or what does a client's tool answer
	SubjectQuestion    Subject = "question"    // a question of the agent
	SubjectForm        Subject = "form"        // a form or a page of an MCP server
)

// Asked is an interactive request in neutral words, stored with it.
type Asked struct {
	Subject Subject `json:"subject,omitempty"`
	// Tool is the tool it is about ("" for none), Arguments the JSON it would be called with (nil when unknown, or when
	// they are so long, LongItem, that they stand in the request's parameters alone).
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Options are the answers the runtime offers beside the plain decisions, in its order.
	Options []Option `json:"options,omitempty"`
	// Context is what the adapter needs to answer after a restart beyond the request's own parameters; only the
	// adapter reads it.
	Context json.RawMessage `json:"context,omitempty"`
}

// Option is one answer a runtime offers.
type Option struct {
	// ID names it in Reply.Option; Label says what it does.
	ID    string `json:"id"`
	Label string `json:"label"`
	// Decision is the plain decision it comes to (accept, decline, cancel), Scope how long it holds (turn, session).
	Decision string `json:"decision"`
	Scope    string `json:"scope,omitempty"`
}

// Chosen is the offered option a reply names; *ReplyError when there is none of it, or it is another decision.
func (a Asked) Chosen(reply Reply) (Option, error) {
	if len(a.Options) == 0 {
		return Option{}, &ReplyError{Field: "option", Message: "this request offers no options to choose from"}
	}
	for _, option := range a.Options {
		switch {
		case option.ID != reply.Option:
		case option.Decision != reply.Decision:
			return option, &ReplyError{Field: "option", Message: fmt.Sprintf("with this option the decision is %q, not %q",
				option.Decision, reply.Decision)}
		default:
			return option, nil
		}
	}
	return Option{}, &ReplyError{Field: "option", Message: "it has to be one of " + a.OptionIDs()}
}

// OptionIDs are the ids of the options, for a message.
func (a Asked) OptionIDs() string {
	ids := make([]string, len(a.Options))
	for i, option := range a.Options {
		ids[i] = option.ID
	}
	return strings.Join(ids, ", ")
}
