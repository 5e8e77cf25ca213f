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

// Protocol is how one agent speaks. One is made for each process, so it may remember what it needs of that
// conversation. Read and Answered are called by one goroutine, in the order of the lines, and must not wait for the
// agent, which may be waiting for us to read. The others may be called from any goroutine.
type Protocol interface {
	// Greet does the handshake, with a new process or one that a server before us began to greet
	// (Conn.Inherited). Conn.Started has been called by the time it returns nil. Its error is shown to
	// operators, so it says what to do.
	Greet(ctx context.Context) error
	// Resume is called for a process that outlived its server and was greeted before; it comes before all else.
	Resume(stored runtime.Resumption)
	// Read parses a line. One that is not a line of the agent is an error: it is counted and skipped.
	Read(line []byte, at time.Time) (Line, error)
	// AnswerIn is the id of the request a line answers, in decimal; "" when it answers none. It is asked of lines that are
	// not read otherwise.
	AnswerIn(line []byte) string
	// Answered gets an answer that is not a refusal. Method is "" when no caller waits for it: the request was
	// given up, or is not known to be open although a server before us made it.
	Answered(method, threadID string, result json.RawMessage)

	// Describe returns what is needed to make a request.
	Describe(method string, params any) Call
	// Frame is the line of a request, with its end. The answer is to name the id.
	Frame(id int64, method string, params any) ([]byte, error)
	// Refuse is the line, with its end, that answers a request of the agent that cannot be decided: one without
	// a Change, or one about a conversation that is not the agent's.
	Refuse(request runtime.Signal) ([]byte, error)
}

// Prober is a Protocol that can check whether the agent is alive. Without it, Options.HangAfter has no effect.
type Prober interface {
	// Probe is a request that changes nothing and that a healthy agent answers at once, whatever it does.
	Probe() (method string, params any)
}

// Rereader is a Protocol whose state leaves out what it can read again: the spool keeps its process's output
// for that.
type Rereader interface {
	// Needs is the offset from which on the output is to be kept, after the line that was read last; 0 when the state is
	// complete. It is called by the goroutine that calls Read.
	Needs() int64
	// Reread takes a line again that a server before us has read, by its end. Those from Needs on come between Resume and
	// the first Read.
	Reread(line []byte, end int64)
}

// Line is what one line of an agent is: the answer to a request, or what the agent says on its own, or nothing that
// concerns anybody (zero).
type Line struct {
	// Answer is the id of the request that is answered, in decimal; "" when the line is no answer.
	Answer string
	Result json.RawMessage
	// Refusal makes the error of a refusal, given the request's method; nil when the answer is none.
	Refusal func(method string) error

	// Reply, when set, is the line, with its end, that answers a request of the agent that concerns only the
	// transport; ReplyTo is the request's id, JSON. It is written, once, before anything after it is passed on.
	Reply   []byte
	ReplyTo json.RawMessage

	// Signals, Native, About and State are those of the batch the line becomes. A request without a Change is refused before it
	// is passed on.
	Signals       []runtime.Signal
	Native, State json.RawMessage
	About         string

	settles *pending // the request the line answers, open until the line is stored
}

// internal reports whether a line is not passed on at all.
func (l *Line) internal() bool {
	return len(l.Signals) == 0 && l.Native == nil && l.State == nil && l.Reply == nil
}

// Call is what has to be known of a request to make it.
type Call struct {
	// ThreadID is the conversation it is about, "" for none.
	ThreadID string
	// Overloaded, when set, reports the refusals after which the request is sent again. Such a request may be repeated
	// without checking the outcome of the first one.
	Overloaded func(err error) bool
	// Harmless requests change nothing: when a server dies before the answer came, no report is needed.
	Harmless bool
	// Announces is what the answer is given to the Protocol's Announce as, also when the caller gave up or its server
	// died; "" for an answer that only its caller needs.
	Announces string
}

// Announcer is a Protocol some of whose answers have to be stored before what the agent says next.
type Announcer interface {
	// Announce returns what the answer to a request with Call.Announces means. It is called like Answered, after it.
	Announce(as string, result json.RawMessage) []runtime.Signal
}

// Counters are totals of what the processes of a runtime met.
type Counters struct {
	// Undecodable lines were none of the agent's, Oversized ones above the limit; both were skipped.
	Undecodable, Oversized atomic.Int64
	// Late answers came after their request was given up.
	Late atomic.Int64
	// Orphans are processes that were left behind and killed.
	Orphans atomic.Int64
	// Hangs are the processes that were killed because they did not answer.
	Hangs atomic.Int64
}
