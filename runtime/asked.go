package runtime

import "encoding/json"

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
	// Context is what the adapter needs to answer after a restart beyond the request's own parameters; nobody else reads
	// it.
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

// Option finds an offered option by its id.
func (a Asked) Option(id string) (Option, bool) {
	for _, option := range a.Options {
		if option.ID == id {
			return option, true
		}
	}
	return Option{}, false
}
