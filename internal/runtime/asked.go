package runtime

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Subject is the topic of an interactive request.
type Subject string

// The subjects of interactive requests.
const (
	SubjectCommand     Subject = "command"     // run a command
	SubjectFileChange  Subject = "fileChange"  // change files
	SubjectNetwork     Subject = "network"     // reach a host
	SubjectPermissions Subject = "permissions" // extend the sandbox
	SubjectTool        Subject = "tool"        // use a tool, or return the result of a client's tool
	SubjectQuestion    Subject = "question"    // a question of the agent
	SubjectForm        Subject = "form"        // a form or a page of an MCP server
)

// Asked is an interactive request in neutral terms, stored with it.
type Asked struct {
	Subject Subject `json:"subject,omitempty"`
	// Tool is the tool in question, "" for none. Arguments are its JSON arguments. They are nil when unknown or
	// longer than LongItem; in that case the request's parameters have them.
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Options are the runtime's answers beyond the plain decisions, in the runtime's order.
	Options []Option `json:"options,omitempty"`
	// Context is the data the adapter needs, beyond the request's parameters, to answer after a restart. Only the
	// adapter reads it.
	Context json.RawMessage `json:"context,omitempty"`
}

// Option is one answer a runtime offers.
type Option struct {
	// ID is the value of Reply.Option; Label describes the option.
	ID    string `json:"id"`
	Label string `json:"label"`
	// Decision is the equivalent plain decision (accept, decline, cancel), Scope its duration (turn, session).
	Decision string `json:"decision"`
	Scope    string `json:"scope,omitempty"`
}

// Chosen returns the option that a reply names. It returns *ReplyError if there is none, or if its decision differs.
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

// OptionIDs returns the ids of the options, for a message.
func (a Asked) OptionIDs() string {
	ids := make([]string, len(a.Options))
	for i, option := range a.Options {
		ids[i] = option.ID
	}
	return strings.Join(ids, ", ")
}
