// Package tasks runs the tasks that an embedding program submits to an agent, one after the other in each session.
// Events report them.
//
// It owns the order of a session's tasks and their end: a task ends exactly once, even after crashes. It also owns the
// events of a session. A pure function (Log) derives these from the journal and numbers them from 1 without a gap. It
// uses the operations of sessions. It must never know HTTP or a runtime's protocol.
package tasks

import (
	"encoding/json"
	"fmt"

	"harness/internal/operations"
)

// Status is the state of a task.
type Status string

// The statuses of a task. The last three are final.
const (
	Queued    Status = "queued"
	starting  Status = "starting" // clients see it as running
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Stopped   Status = "stopped"
)

// Over reports whether a status is final.
func (s Status) Over() bool { return s == Completed || s == Failed || s == Stopped }

// Shown returns a status as clients see it.
func (s Status) Shown() Status {
	if s == starting {
		return Running
	}
	return s
}

// Task is one task of a session's agent. Times are in ms, 0 if not reached.
type Task struct {
	SessionID, ID string
	Status        Status
	Messages      []Message
	// Mode is the permission mode of this task, "" for the session's.
	Mode Mode
	// TurnID is its turn, "" until known.
	TurnID string
	// Outcome is nil until the task ended.
	Outcome                       *Outcome
	CreatedAt, StartedAt, EndedAt int64
	// LastSeq is the number of its last event, 0 if it has none.
	LastSeq int64
	// Origin identifies the caller.
	Origin Origin
	// AllowChangedSources lets it run even if a file that the agent reads on its own has changed.
	AllowChangedSources bool
	// Ahead is the number of unfinished tasks before it in its session, as counted by Submit.
	Ahead int

	number                 int64
	stopReason             string
	before                 string // session.TurnMark as JSON
	actor, traceID, spanID string // the request's
}

// Message is one message of a task.
type Message struct {
	Role string `json:"role"`
	// Content lists blocks. A text block has a member text; the agent gets others as JSON.
	Content []json.RawMessage `json:"content"`
}

// Mode defines which calls run without approval.
type Mode string

// The permission modes: everything needs approval, only unsafe calls do, nothing does.
const (
	ModeAsk  Mode = "ask"
	ModeAuto Mode = "auto"
	ModeYolo Mode = "yolo"
)

// Outcome describes how a task ended.
type Outcome struct {
	Status Status `json:"status"`
	// Reason is why it was stopped or what ended it.
	Reason string `json:"reason,omitempty"`
	// Failure is set if it failed.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure describes why a task failed.
type Failure struct {
	// Code is one of the codes below.
	Code string `json:"code"`
	// Message is the runtime's text; Raw is its JSON, unchanged.
	Message string          `json:"message"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	// Retryable means that the same task may succeed later.
	Retryable bool   `json:"retryable"`
	Runtime   string `json:"runtime"`
	// Recovery describes how to fix it.
	Recovery string `json:"recovery,omitempty"`
}

// The codes of failures.
const (
	CodeContext     = "CONTEXT_TOO_LARGE"
	CodeRate        = "RATE_LIMITED"
	CodeModel       = "MODEL_UNAVAILABLE"
	CodeAuth        = "AUTH_ERROR"
	CodeRuntime     = "RUNTIME_ERROR"
	CodeInterrupted = "INTERRUPTED"     // its runtime, or the server, ended
	CodeUnknown     = "OUTCOME_UNKNOWN" // whether it began is unknown
	CodeRefused     = "REFUSED"         // the session accepts no task in its state
	CodeGone        = "SESSION_GONE"    // the session was deleted
	CodeSources     = "SOURCES_CHANGED" // a file that its agent reads on its own has changed
)

// Sentinels for errors.Is.
var (
	// ErrNotFound: the session has no task with that id.
	ErrNotFound error = &codedError{operations.CodeTaskNotFound, "task not found"}
	// ErrExists: the session already has a task with that id.
	ErrExists error = &codedError{operations.CodeTaskExists, "a task with this id already exists"}
	// ErrNotPending: that tool call needs no decision.
	ErrNotPending error = &codedError{operations.CodeCallNotPending, "that tool call has no pending request"}
	// ErrYolo: the operator does not allow ModeYolo.
	ErrYolo error = &codedError{operations.CodeYoloNotAllowed,
		"the permission mode yolo is not allowed by the server (HARNESS_ALLOW_YOLO)"}
)

// codedError is a sentinel with its code for clients.
type codedError struct {
	code operations.Code
	text string
}

// Error implements error.
func (e *codedError) Error() string { return e.text }

// Code implements operations.Coded.
func (e *codedError) Code() operations.Code { return e.code }

// LimitError means that the limit of open tasks is reached.
type LimitError struct {
	// Of is the scope of the limit: "session" or "server".
	Of    string
	Limit int
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the %s has %d unfinished tasks, which is its limit; retry when one has ended",
		e.Of, e.Limit)
}

// Code implements operations.Coded.
func (e *LimitError) Code() operations.Code { return operations.CodeTaskLimit }

// PartError means that a decision has a part that the call does not accept, or lacks one. The call stays open.
type PartError struct{ Part, Message string }

// Error implements error.
func (e *PartError) Error() string { return e.Part + ": " + e.Message }

// Code implements operations.Coded.
func (e *PartError) Code() operations.Code { return operations.CodeInvalid }

// MismatchError means that a decision is about another attempt or input than the open one, which stays open.
type MismatchError struct {
	CallID string
	// Attempt and InputHash identify the open call.
	Attempt   int
	InputHash string
	// Field is attempt or input_hash.
	Field string
}

// Error implements error.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("tool call %s: the decision's %s differs from the call's, which is still pending", e.CallID, e.Field)
}

// Code implements operations.Coded.
func (e *MismatchError) Code() operations.Code { return operations.CodeCallMismatch }
