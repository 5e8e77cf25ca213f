// Package stdio keeps agents running that exchange lines over their standard pipes, and connects the server to them.
//
// It owns the parts that do not depend on the agent. The Supervisor starts one process at a time, watches it, and
// restarts it with growing pauses. The process is a child, or runs behind a shim to which the next server attaches.
// The package reads lines within bounds, matches answers to requests, and passes all other lines to the sink in their
// order. A slow sink slows the agent. The agent's Protocol defines the meaning of a line and the form of a request.
// The package must never know a provider's words, sessions or storage.
package stdio

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"harness/internal/runtime"
)

// Protocol is the language of one agent. Each process gets a separate instance, which may keep state of the
// connection. One goroutine calls Read and Answered in the order of the lines. They must not wait for the agent: it
// may be waiting for the server to read. Any goroutine may call the other methods.
type Protocol interface {
	// Greet does the handshake with a new process, or with one that an earlier server started to greet
	// (Conn.Inherited). It must call Conn.Started before it returns nil. Operators see its error, so the error names
	// the remedy.
	Greet(ctx context.Context) error
	// Resume is the first call for a greeted process that outlived its server.
	Resume(stored runtime.Resumption)
	// Read parses a line. It returns an error for an invalid line; the connection counts and skips such lines.
	Read(line []byte, at time.Time) (Line, error)
	// AnswerIn returns the decimal id of the request that a line answers; "" for none. It also runs for lines that
	// Read does not get.
	AnswerIn(line []byte) string
	// Answered gets a successful answer. Method is "" when no caller waits for it: the caller canceled the request,
	// or an earlier server made it.
	Answered(method, threadID string, result json.RawMessage)

	// Describe returns the properties of a request.
	Describe(method string, params any) Call
	// Frame returns the complete line of a request. The answer must have the id.
	Frame(id int64, method string, params any) ([]byte, error)
	// Refuse returns the complete line that refuses a request of the agent: one without a Change, or one of a foreign
	// conversation.
	Refuse(request runtime.Signal) ([]byte, error)
}

// Prober is a Protocol that can check whether the agent is alive. Without it, Options.HangAfter has no effect.
type Prober interface {
	// Probe returns a request that changes nothing. A healthy agent answers it at once, even while it is busy.
	Probe() (method string, params any)
}

// Rereader is a Protocol with a state that omits data it can read again: the spool keeps that output.
type Rereader interface {
	// Needs returns the offset from which the spool must keep the output, after the last line read; 0 when the state
	// is complete. The goroutine of Read calls it.
	Needs() int64
	// Reread gets a line that an earlier server has read, and the offset of its end. The lines from Needs on come
	// between Resume and the first Read.
	Reread(line []byte, end int64)
}

// Line is the meaning of one line of an agent: an answer, the agent's own output, or nothing relevant (zero).
type Line struct {
	// Answer is the decimal id of the answered request; "" when the line is no answer.
	Answer string
	Result json.RawMessage
	// Refusal returns the error of a refusal, given the request's method; nil for a successful answer.
	Refusal func(method string) error

	// Reply, when set, is the complete line that answers an agent's request about the transport. ReplyTo is the
	// request's id, JSON. The connection writes it once, before it passes on later lines.
	Reply   []byte
	ReplyTo json.RawMessage

	// Signals, Native, About and State are those of the line's batch. The connection refuses a request without a
	// Change before it passes the request on.
	Signals       []runtime.Signal
	Native, State json.RawMessage
	About         string

	settles *pending // the request the line answers, open until the line is stored
}

// internal reports whether the connection keeps a line to itself.
func (l *Line) internal() bool {
	return len(l.Signals) == 0 && l.Native == nil && l.State == nil && l.Reply == nil
}

// Call describes a request.
type Call struct {
	// ThreadID is its conversation, "" for none.
	ThreadID string
	// Overloaded, when set, reports whether to send the request again after a refusal. Such a request can be repeated
	// without a check of the first one's outcome.
	Overloaded func(err error) bool
	// Harmless requests change nothing: if a server dies before the answer, the next one reports nothing.
	Harmless bool
	// Announces is the argument of the Protocol's Announce for the answer, even after the caller canceled the request
	// or its server died. "" when only the caller needs the answer.
	Announces string
}

// Announcer is a Protocol with answers that must be stored before the agent's next output.
type Announcer interface {
	// Announce returns the meaning of the answer to a request with Call.Announces. It runs after Answered.
	Announce(as string, result json.RawMessage) []runtime.Signal
}

// Counters are totals of the processes of a runtime.
type Counters struct {
	// Undecodable lines were invalid, Oversized ones exceeded the limit. The connection skipped both.
	Undecodable, Oversized atomic.Int64
	// Late answers arrived after their caller canceled the request.
	Late atomic.Int64
	// Orphans are leftover processes that a sweep killed.
	Orphans atomic.Int64
	// Hangs are unresponsive processes that the supervisor killed.
	Hangs atomic.Int64
}
