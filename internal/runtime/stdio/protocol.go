// Package stdio keeps agents running that speak lines over their standard pipes, and carries the conversation with
// them.
//
// It owns what does not depend on the agent: one process at a time is started, watched and started again with growing
// pauses (Supervisor); as a child, or behind a shim that the next server attaches to; its lines are read within bounds,
// answers paired with requests, and everything else is passed to the sink in the order it was said, slowing the agent
// when the sink is slow. What a line means and how a request looks is the agent's Protocol. It must never know a
// provider's words, sessions or storage.
package stdio

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"harness/internal/runtime"
)

// Protocol is the language of one agent. Each process gets its own instance, which may keep state of the connection. One
// goroutine calls Read and Answered in the order of the lines. They must not wait for the agent, which may be waiting
// for us to read. Any goroutine may call the others.
type Protocol interface {
	// Greet does the handshake with a new process, or with one that an earlier server began to greet (Conn.Inherited).
	// Conn.Started must have been called when it returns nil. Operators see its error, so it names the remedy.
	Greet(ctx context.Context) error
	// Resume is called first for a greeted process that outlived its server.
	Resume(stored runtime.Resumption)
	// Read parses a line. An invalid line is an error: it is counted and skipped.
	Read(line []byte, at time.Time) (Line, error)
	// AnswerIn is the decimal id of the request that a line answers; "" for none. It is called for lines that Read does
	// not get.
	AnswerIn(line []byte) string
	// Answered gets a successful answer. Method is "" when no caller waits for it: the caller gave up, or an earlier
	// server made the request.
	Answered(method, threadID string, result json.RawMessage)

	// Describe returns what is needed to make a request.
	Describe(method string, params any) Call
	// Frame is the complete line of a request. The answer must have the id.
	Frame(id int64, method string, params any) ([]byte, error)
	// Refuse is the complete line that refuses a request of the agent: one without a Change, or one about a foreign
	// conversation.
	Refuse(request runtime.Signal) ([]byte, error)
}

// Prober is a Protocol that can check whether the agent is alive. Without it, Options.HangAfter has no effect.
type Prober interface {
	// Probe is a request that changes nothing and that a healthy agent answers at once, whatever it does.
	Probe() (method string, params any)
}

// Rereader is a Protocol whose state omits what it can read again: the spool keeps that output.
type Rereader interface {
	// Needs is the offset from which the output must be kept, after the last line read; 0 when the state is complete.
	// The goroutine of Read calls it.
	Needs() int64
	// Reread gets a line again that an earlier server has read, by its end. The lines from Needs on come between Resume
	// and the first Read.
	Reread(line []byte, end int64)
}

// Line is the meaning of one line of an agent: an answer, the agent's own output, or nothing relevant (zero).
type Line struct {
	// Answer is the decimal id of the answered request; "" when the line is no answer.
	Answer string
	Result json.RawMessage
	// Refusal makes the error of a refusal, given the request's method; nil for a successful answer.
	Refusal func(method string) error

	// Reply, when set, is the complete line that answers a request of the agent about the transport only; ReplyTo is the
	// request's id, JSON. It is written once, before anything after it is passed on.
	Reply   []byte
	ReplyTo json.RawMessage

	// Signals, Native, About and State are those of the line's batch. A request without a Change is refused before it is
	// passed on.
	Signals       []runtime.Signal
	Native, State json.RawMessage
	About         string

	settles *pending // the request the line answers, open until the line is stored
}

// internal reports whether a line is not passed on.
func (l *Line) internal() bool {
	return len(l.Signals) == 0 && l.Native == nil && l.State == nil && l.Reply == nil
}

// Call describes a request.
type Call struct {
	// ThreadID is its conversation, "" for none.
	ThreadID string
	// Overloaded, when set, reports the refusals after which the request is sent again. Such a request may be repeated
	// without checking the outcome of the first one.
	Overloaded func(err error) bool
	// Harmless requests change nothing: if a server dies before the answer, no report is needed.
	Harmless bool
	// Announces is the argument of the Protocol's Announce for the answer, even when the caller gave up or its server
	// died. "" when only the caller needs the answer.
	Announces string
}

// Announcer is a Protocol with answers that must be stored before the agent's next output.
type Announcer interface {
	// Announce returns the meaning of the answer to a request with Call.Announces. It is called after Answered.
	Announce(as string, result json.RawMessage) []runtime.Signal
}

// Counters are totals of the processes of a runtime.
type Counters struct {
	// Undecodable lines were invalid, Oversized ones exceeded the limit; both were skipped.
	Undecodable, Oversized atomic.Int64
	// Late answers came after their caller gave up.
	Late atomic.Int64
	// Orphans are leftover processes that were killed.
	Orphans atomic.Int64
	// Hangs are the processes that were killed because they did not answer.
	Hangs atomic.Int64
}
