package claude

import (
	"encoding/json"
	"slices"
)

// Bounds of a conversation's state. A real one needs no more. Above a bound, the oldest entries are dropped first.
const (
	maxTools   = 256
	maxSteps   = 256
	maxAllowed = 512
	maxBlocks  = 512
	maxWorking = 64
	// maxDetail bounds the remembered arguments of an open call in bytes, maxDetails those of all calls. Above that,
	// fit cuts the texts of the oldest calls to maxText. Steps of the plan have the same limit.
	maxDetail, maxDetails = 64 << 10, 1 << 20
	maxText               = 1 << 10
	// maxPath bounds a working directory in bytes.
	maxPath = 4 << 10
	// maxState bounds the state as JSON in bytes, for any output of Claude Code. It follows from these bounds and
	// from that of ids (runtime.MaxID). JSON may escape each of their bytes with six.
	maxState = 16 << 20
)

// state is the data from earlier lines that the translation of a line needs. It is stored with the position of each
// line.
type state struct {
	// Thread is the session, Cwd the working directory, Model the model at the start ("" for the default).
	Thread string `json:"thread"`
	Cwd    string `json:"cwd,omitempty"`
	Model  string `json:"model,omitempty"`
	// Runs is the model that Claude Code reports.
	Runs string `json:"runs,omitempty"`
	// Turn is the running turn. Owed is the message that will start a separate turn. Began is the start time of the
	// turn in ms.
	Turn  string `json:"turn,omitempty"`
	Owed  string `json:"owed,omitempty"`
	Began int64  `json:"began,omitempty"`
	// Message is the model's answer in progress, Blocks are its blocks.
	Message string  `json:"message,omitempty"`
	Blocks  []block `json:"blocks,omitempty"`
	// Tools are the open calls.
	Tools []toolCall `json:"tools,omitempty"`
	// Diff has the changes of the turn so far, by file.
	Diff string `json:"diff,omitempty"`
	// Plan are the agent's tasks, in order.
	Plan []task `json:"plan,omitempty"`
	// Asked are the open requests, and Allowed the user's approvals for the session.
	Asked   []asked `json:"asked,omitempty"`
	Allowed []rule  `json:"allowed,omitempty"`
	// Background is the amount of work beyond the turns, Working the remembered part of it.
	Background int       `json:"background,omitempty"`
	Working    []working `json:"working,omitempty"`
	// Silent is the reason why the server ended the turn of an unresponsive agent.
	Silent string `json:"silent,omitempty"`
	// Failure is the last error of the model's server in this turn. Over means that the turn has ended except for
	// background work that waits for a user.
	Failure string `json:"failure,omitempty"`
	Over    bool   `json:"over,omitempty"`
	// Said is Claude Code's id of the last complete message of the model. Its history has the same id.
	Said string `json:"said,omitempty"`
	// Cleared is Claude Code's id of the conversation after it was cleared, "" for the first one. Clearing means that
	// the new id has not arrived yet.
	Cleared  string `json:"cleared,omitempty"`
	Clearing bool   `json:"clearing,omitempty"`
}

// block is one block of an answer; Done is set when it is complete.
type block struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	Done  bool   `json:"done,omitempty"`
}

// toolCall is a tool call. A long Input is cut.
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
	// Call is the tool use in question, Rule the rule that an approval for the session adds.
	Call string `json:"call"`
	Rule rule   `json:"rule"`
	// Input identifies the requested arguments (inputID).
	Input string `json:"input,omitempty"`
}

// rule is a tool use: a command of a shell, a path of a file tool, or any use of another tool ("").
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

// call returns the open call of an id, nil when there is none.
func (s *state) call(id string) *toolCall {
	for i := range s.Tools {
		if s.Tools[i].ID == id {
			return &s.Tools[i]
		}
	}
	return nil
}

// fit cuts the arguments of the oldest open calls until all are within bounds.
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

// close removes an open request; false when the id has none.
func (s *state) close(requestID string) (asked, bool) {
	i := slices.IndexFunc(s.Asked, func(a asked) bool { return a.ID == requestID })
	if i < 0 {
		return asked{}, false
	}
	one := s.Asked[i]
	s.Asked = slices.Delete(s.Asked, i, i+1)
	return one, true
}

// busy returns the turn that is running or about to start; "" when there is none.
func (s *state) busy() string {
	if s.Turn != "" {
		return s.Turn
	}
	return s.Owed
}

// carry returns the state for the next process of the conversation.
func (s *state) carry() state {
	return state{Plan: slices.Clone(s.Plan), Allowed: slices.Clone(s.Allowed), Said: s.Said, Cleared: s.Cleared}
}
