package claude

import (
	"encoding/json"
	"slices"
)

// Bounds of what is remembered of a conversation: more is nothing a real one needs, and is let go of, the oldest first.
const (
	maxTools   = 256
	maxSteps   = 256
	maxAllowed = 512
	maxBlocks  = 512
	maxWorking = 64
	// maxDetail is how long (bytes) the arguments of an open call may be to be remembered, maxDetails those of all. Beyond
	// it the oldest ones' texts are cut to maxText, as the steps of the plan are.
	maxDetail, maxDetails = 64 << 10, 1 << 20
	maxText               = 1 << 10
	// maxPath is how long (bytes) a folder is that a program can work in.
	maxPath = 4 << 10
	// maxState is what the state takes as JSON at most (bytes), whatever Claude Code says: the bounds here, and that of
	// ids and names (runtime.MaxID), each of whose bytes JSON may write with six.
	maxState = 16 << 20
)

// state is all that translating a line needs to know of the lines before. It is stored with the position of each line.
type state struct {
	// Thread is the session, Cwd the folder the agent works in, Model the one it was started with ("" for its default).
	Thread string `json:"thread"`
	Cwd    string `json:"cwd,omitempty"`
	Model  string `json:"model,omitempty"`
	// Runs is the model that Claude Code says it runs.
	Runs string `json:"runs,omitempty"`
	// Turn runs. Owed is the message that was promised a turn of its own and has none yet; Began is when the turn did, in
	// ms.
	Turn  string `json:"turn,omitempty"`
	Owed  string `json:"owed,omitempty"`
	Began int64  `json:"began,omitempty"`
	// Message is the answer of the model that is being written, Blocks are its blocks.
	Message string  `json:"message,omitempty"`
	Blocks  []block `json:"blocks,omitempty"`
	// Tools are the calls that have not ended.
	Tools []toolCall `json:"tools,omitempty"`
	// Diff is what the turn has changed so far, in files.
	Diff string `json:"diff,omitempty"`
	// Plan are the agent's tasks, in order.
	Plan []task `json:"plan,omitempty"`
	// Asked are the open requests and Allowed what a person has allowed for the session.
	Asked   []asked `json:"asked,omitempty"`
	Allowed []rule  `json:"allowed,omitempty"`
	// Background counts what works on behind the turns, Working are those of them that are remembered.
	Background int       `json:"background,omitempty"`
	Working    []working `json:"working,omitempty"`
	// Silent is why the turn was to end when the agent said nothing in it.
	Silent string `json:"silent,omitempty"`
	// Failure is the last error of the model's server in this turn. Over says that the turn is, but for what works on in
	// the background and waits for a person.
	Failure string `json:"failure,omitempty"`
	Over    bool   `json:"over,omitempty"`
	// Said is Claude Code's id of the last whole message of the model, by which it also writes it down.
	Said string `json:"said,omitempty"`
	// Cleared is Claude Code's name of the conversation since it was cleared, "" for the first name. Clearing
	// says that the new name is still to come.
	Cleared  string `json:"cleared,omitempty"`
	Clearing bool   `json:"clearing,omitempty"`
}

// block is one block of an answer; Done when it is whole.
type block struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	Done  bool   `json:"done,omitempty"`
}

// toolCall is a tool that was called. Input is cut when it is long.
type toolCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input,omitempty"`
	Began  int64           `json:"began"`
	Denied bool            `json:"denied,omitempty"`
	// Silent calls have no item: a question or a plan shows them.
	Silent bool `json:"silent,omitempty"`
}

type task struct {
	ID     string `json:"id"`
	Step   string `json:"step"`
	Status string `json:"status"`
}

type asked struct {
	ID string `json:"id"`
	// Call is the tool use it is about, Rule what an approval for the session would allow.
	Call string `json:"call"`
	Rule rule   `json:"rule"`
	// Input stands for the arguments that were asked about (inputID).
	Input string `json:"input,omitempty"`
}

// rule is a use of a tool: of a shell with a command, of a file tool with a path, of others with anything ("").
type rule struct {
	Tool string `json:"tool"`
	What string `json:"what,omitempty"`
}

// keep adds to a bounded list.
func keep[T any](list []T, limit int, one T) []T {
	list = append(list, one)
	if extra := len(list) - limit; extra > 0 {
		list = slices.Delete(list, 0, extra)
	}
	return list
}

// call is the open call of an id, nil when there is none.
func (s *state) call(id string) *toolCall {
	for i := range s.Tools {
		if s.Tools[i].ID == id {
			return &s.Tools[i]
		}
	}
	return nil
}

// fit cuts what the oldest open calls are made with until all of it is within bounds.
func (s *state) fit() {
	all := 0
	for _, call := range s.Tools {
		all += len(call.Input)
	}
	for i := range s.Tools {
		if all <= maxDetails {
			return
		}
		if short := shortened(s.Tools[i].Input, maxText); len(short) < len(s.Tools[i].Input) {
			all -= len(s.Tools[i].Input) - len(short)
			s.Tools[i].Input = short
		}
	}
}

// close forgets an open request; false when there is none of the id.
func (s *state) close(requestID string) (asked, bool) {
	i := slices.IndexFunc(s.Asked, func(a asked) bool { return a.ID == requestID })
	if i < 0 {
		return asked{}, false
	}
	one := s.Asked[i]
	s.Asked = slices.Delete(s.Asked, i, i+1)
	return one, true
}

// busy is the turn that runs, or will in a moment; "" when none does.
func (s *state) busy() string {
	if s.Turn != "" {
		return s.Turn
	}
	return s.Owed
}

// carry is what goes on in the next process of the conversation.
func (s *state) carry() state {
	return state{Plan: slices.Clone(s.Plan), Allowed: slices.Clone(s.Allowed), Said: s.Said, Cleared: s.Cleared}
}
