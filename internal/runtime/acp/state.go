package acp

import (
	"encoding/json"
	"slices"

	"harness/internal/runtime/wire"
)

// Bounds of what is remembered of a turn: the state is stored with every line that does more than add to a text.
const (
	maxText   = 64 << 10 // of a growing message; a longer one continues in a second item
	maxOutput = 256 << 10
	maxValue  = 256 << 10 // of what a tool was given, and of what came of it
	maxDiff   = 256 << 10
	maxTools  = 128
	maxEnded  = 256
	maxAsked  = 128
)

// state is all that translating a line needs of the lines before it, as JSON: the turns that run, by the agent's id of
// their conversation.
type state struct {
	Conversations map[string]*conversation `json:"talks,omitempty"`
}

// conversation is a conversation with a turn.
type conversation struct {
	Thread    string `json:"thread"`
	Turn      string `json:"turn"`
	Cwd       string `json:"cwd,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	// Items counts the texts of the turn, Text is the one that grows.
	Items int   `json:"items,omitempty"`
	Text  *text `json:"text,omitempty"`
	// Tools are the calls that have not ended, in order; Ended the ids of the last ones that have.
	Tools []*tool  `json:"tools,omitempty"`
	Ended []string `json:"ended,omitempty"`
	Asked []*asked `json:"asked,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	// Window is the model's context in tokens, Total what the conversation used before this turn.
	Window int64       `json:"window,omitempty"`
	Total  wire.Tokens `json:"total,omitzero"`
	// Cancelled says that the turn was to end, Silent why when the agent was unresponsive, Declined that a
	// person has declined a request of it.
	Cancelled bool   `json:"cancelled,omitempty"`
	Silent    string `json:"silent,omitempty"`
	Declined  bool   `json:"declined,omitempty"`
	// AutoApproved says that what the agent asks in this turn is allowed without asking anybody.
	AutoApproved bool `json:"unasked,omitempty"`
	// Clears says that the message has the agent forget the conversation.
	Clears bool `json:"clears,omitempty"`
}

// text is a message, or a thought, that grows. Message is the agent's id of it, "" when it has none.
type text struct {
	ID      string `json:"id"`
	Thought bool   `json:"thought,omitempty"`
	Message string `json:"message,omitempty"`
	growingText
}

// asked is a request of the agent that was not seen to be settled. Tool is the call it is about, Answer the decision it
// got ("" for none yet).
type asked struct {
	ID     json.RawMessage `json:"id"`
	Tool   string          `json:"tool,omitempty"`
	Form   bool            `json:"form,omitempty"`
	Answer string          `json:"answer,omitempty"`
}

// encode is the state as it is stored.
func (s *state) encode() json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic("acp: encode the translator's state: " + err.Error()) // texts and JSON that was read encode
	}
	return raw
}

// decodeState reads what encode wrote, but for what is to be read again of the output. What cannot be read is an empty
// state.
func decodeState(raw json.RawMessage) state {
	var stored struct {
		state
		// Texts is where a server before this version has the messages that grow.
		Texts map[string]string `json:"texts"`
	}
	_ = json.Unmarshal(raw, &stored) // a process that has said nothing has none
	for native, said := range stored.Texts {
		if of := stored.Conversations[native]; of != nil && of.Text != nil {
			of.Text.Kept = said
		}
	}
	stored.each(func(g *growingText, _ int) { g.all = []byte(g.Kept) })
	return stored.state
}

// turn finds the conversation of a turn.
func (s *state) turn(id string) (native string, of *conversation) {
	for native, conversation := range s.Conversations {
		if conversation.Turn == id {
			return native, conversation
		}
	}
	return "", nil
}

// asking finds the conversation a request was asked in.
func (s *state) asking(id json.RawMessage) (of *conversation, request *asked) {
	for _, conversation := range s.Conversations {
		for _, one := range conversation.Asked {
			if string(one.ID) == string(id) {
				return conversation, one
			}
		}
	}
	return nil, nil
}

func (t *conversation) tool(id string) *tool {
	if i := slices.IndexFunc(t.Tools, func(one *tool) bool { return one.ID == id }); i >= 0 {
		return t.Tools[i]
	}
	return nil
}

func (t *conversation) position() wire.Place { return wire.Place{ThreadID: t.Thread, TurnID: t.Turn} }

// keepLast is a list that forgets what came first.
func keepLast(list []string, one string, most int) []string {
	if list = append(list, one); len(list) > most {
		list = slices.Clone(list[len(list)-most:])
	}
	return list
}

// bounded is a value that is not too long to be remembered, or words that say how long it was.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxValue {
		return raw
	}
	return json.RawMessage(`{"leftOut":` + jsonInt(len(raw)) + `}`)
}
