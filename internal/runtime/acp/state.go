package acp

import (
	"encoding/json"
	"slices"

	"harness/internal/runtime/wire"
)

// Bounds of a turn's state. It is stored with every line that does more than append to a text.
const (
	maxText   = 64 << 10 // of a growing message; a longer one continues in a second item
	maxOutput = 256 << 10
	maxValue  = 256 << 10 // of a tool's input and of its result
	maxDiff   = 256 << 10
	maxTools  = 128
	maxEnded  = 256
	maxAsked  = 128
)

// state is the data from earlier lines that the translation of a line needs, as JSON: the running turns, by the
// agent's id of their conversation.
type state struct {
	Conversations map[string]*conversation `json:"talks,omitempty"`
}

// conversation is a conversation with a turn.
type conversation struct {
	Thread    string `json:"thread"`
	Turn      string `json:"turn"`
	Cwd       string `json:"cwd,omitempty"`
	StartedAt int64  `json:"startedAt,omitempty"`
	// Items is the number of texts of the turn, Text the growing one.
	Items int   `json:"items,omitempty"`
	Text  *text `json:"text,omitempty"`
	// Tools are the open calls, in order; Ended the ids of the last ended ones.
	Tools []*tool  `json:"tools,omitempty"`
	Ended []string `json:"ended,omitempty"`
	Asked []*asked `json:"asked,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	// Window is the model's context in tokens, Total the usage of the conversation before this turn.
	Window int64       `json:"window,omitempty"`
	Total  wire.Tokens `json:"total,omitzero"`
	// Cancelled means that the server requested the end of the turn, Declined that a user declined one of its
	// requests. Silent is the reason if the agent was unresponsive.
	Cancelled    bool   `json:"cancelled,omitempty"`
	Unresponsive string `json:"silent,omitempty"`
	Declined     bool   `json:"declined,omitempty"`
	// AutoApproved means that the server approves the agent's requests in this turn without a user.
	AutoApproved bool `json:"unasked,omitempty"`
	// Clears means that the message clears the conversation.
	Clears bool `json:"clears,omitempty"`
}

// text is a growing message or thought. Message is the agent's id of it, "" for none.
type text struct {
	ID      string `json:"id"`
	Thought bool   `json:"thought,omitempty"`
	Message string `json:"message,omitempty"`
	growingText
}

// asked is an open request of the agent. Tool is its call, Answer its decision ("" for none yet).
type asked struct {
	ID     json.RawMessage `json:"id"`
	Tool   string          `json:"tool,omitempty"`
	Form   bool            `json:"form,omitempty"`
	Answer string          `json:"answer,omitempty"`
}

// encode returns the stored form of the state.
func (s *state) encode() json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		panic("acp: encode the translator's state: " + err.Error()) // strings and parsed JSON always encode
	}
	return raw
}

// decodeState reads the result of encode, without the output to read again. Unreadable JSON is an empty state.
func decodeState(raw json.RawMessage) state {
	var stored struct {
		state
		// Texts are the growing messages as earlier versions stored them.
		Texts map[string]string `json:"texts"`
	}
	_ = json.Unmarshal(raw, &stored) // a process without output has none
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

// asking finds the conversation of a request.
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

// keepLast adds to a list and keeps only its last elements.
func keepLast(list []string, one string, most int) []string {
	if list = append(list, one); len(list) > most {
		list = slices.Clone(list[len(list)-most:])
	}
	return list
}

// bounded returns a value within the limit, or a text with its length.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) <= maxValue {
		return raw
	}
	return json.RawMessage(`{"leftOut":` + jsonInt(len(raw)) + `}`)
}
