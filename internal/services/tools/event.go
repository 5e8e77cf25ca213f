package tools

import (
	"context"
	"encoding/json"
)

// Call is one attempt of a call.
type Call struct {
	// ID is ours; NativeID is what the runtime calls it, "" when it does not say. Attempt counts from 1 and rises when a
	// call is made again whose earlier attempt was cut off.
	ID, NativeID string
	Attempt      int
	// SessionID and TurnID are where it belongs, TurnID "" when it is not known.
	SessionID, TurnID string
	// Tool is its name, Input what it is called with, InputHash the Hash of that.
	Tool      string
	Input     json.RawMessage
	InputHash string
	// Workspace is the folder it works in.
	Workspace string
	// Epoch is how often its session had moved to another node when the call was made: one of an earlier
	// epoch is not begun.
	Epoch int64
}

// Event is one of what happens to a call: Requested, Evaluated, Approved or Denied, then after Approved: Started,
// Output, Completed.
type Event interface {
	// Type is its name, as in "tool.call.requested".
	Type() string
}

// Requested says: an agent wants the call. It is the first event of an attempt.
type Requested struct {
	Class Class `json:"permission,omitempty"`
}

// Evaluated says that one party gave its opinion.
type Evaluated struct{ Opinion }

// Approved says: it may run. It or Denied comes once.
type Approved struct {
	Snapshot Snapshot `json:"policy_snapshot"`
	// Actor is the person who allowed it, "" when no approval was needed; Reason in that person's words.
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Denied says: it does not run, and nothing follows.
type Denied struct {
	Snapshot Snapshot `json:"policy_snapshot"`
	Actor    string   `json:"actor,omitempty"`
	// Reason is the text for the agent.
	Reason string `json:"reason"`
	// Cancelled says that there was no decision: the agent gave the call up.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Started says: it runs.
type Started struct {
	Sandbox Confinement `json:"sandbox"`
}

// Output says: it says something while it runs.
type Output struct {
	Stream string `json:"stream"` // stdout or stderr
	Delta  string `json:"delta"`
}

// Completed says: it ended. Of what it said, the first part stands here.
type Completed struct {
	Name         string      `json:"name"`
	ExecutedBy   string      `json:"executed_by"`   // "harness"
	ExecutionEnv string      `json:"execution_env"` // the sandbox: in_process, bubblewrap, docker
	Snapshot     Snapshot    `json:"policy_snapshot"`
	Sandbox      Confinement `json:"sandbox"`
	// ResultPreview is the result, or the beginning of one that is kept as an artifact, which ResultRef names.
	ResultPreview json.RawMessage `json:"result_preview"`
	ResultRef     json.RawMessage `json:"result_ref,omitempty"`
	IsError       bool            `json:"is_error"`
	Stdout        string          `json:"stdout,omitempty"`
	Stderr        string          `json:"stderr,omitempty"`
	DurationMS    int64           `json:"duration_ms"`
}

// Confinement says in what a call ran.
type Confinement struct {
	Kind      string   `json:"kind"`
	Network   bool     `json:"network"`
	TimeoutMS int64    `json:"timeout_ms"`
	Mounts    []string `json:"mounts,omitempty"`
}

// Type implements Event.
func (Requested) Type() string { return "tool.call.requested" }

// Type implements Event.
func (Evaluated) Type() string { return "tool.call.policy_evaluated" }

// Type implements Event.
func (Approved) Type() string { return "tool.call.approved" }

// Type implements Event.
func (Denied) Type() string { return "tool.call.denied" }

// Type implements Event.
func (Started) Type() string { return "tool.call.started" }

// Type implements Event.
func (Output) Type() string { return "tool.output.delta" }

// Type implements Event.
func (Completed) Type() string { return "tool.call.completed" }

// Recorder stores what happens to calls. What it stored outlives a crash, and nothing is done or sent to an
// agent before that.
type Recorder interface {
	// Open gives a call its ID and Attempt and records Requested. cutOff says that an earlier attempt may have run, and
	// how far is not known.
	Open(ctx context.Context, call Call, requested Requested) (opened Call, cutOff bool, err error)
	// Record adds events of a call, in order.
	Record(ctx context.Context, call Call, events ...Event) error
}

// Answer is what a person decided about a call.
type Answer struct {
	Allow bool
	// Actor is the decider, Reason the reason in that person's words.
	Actor, Reason string
}

// Approver asks a person. Its error is that of ctx when the call was given up meanwhile; then the request is
// withdrawn.
type Approver interface {
	Ask(ctx context.Context, call Call, class Class, description string) (Answer, error)
}

// Artifacts keeps results that are too long to stand in an event, and has the bytes that inputs refer to.
type Artifacts interface {
	// Content returns the bytes of an artifact of the call's session; the agent gets its error.
	Content(ctx context.Context, call Call, id string) ([]byte, error)
	// Keep stores a result of a call and returns a reference to it, as JSON.
	Keep(ctx context.Context, call Call, name, contentType string, content []byte) (json.RawMessage, error)
}
