package tools

import (
	"context"
	"encoding/json"
)

// Call is one attempt of a tool call.
type Call struct {
	// ID is our own id. NativeID is the runtime's, "" if unknown. Attempt counts from 1 and grows when an interrupted
	// call is repeated.
	ID, NativeID string
	Attempt      int
	// SessionID and TurnID identify its session and turn, TurnID "" if unknown.
	SessionID, TurnID string
	// Tool is its name, Input its input, InputHash the Hash of that.
	Tool      string
	Input     json.RawMessage
	InputHash string
	// Workspace is its folder.
	Workspace string
	// Epoch is how often its session moved to another node before the call. A call of an earlier epoch is not started.
	Epoch int64
}

// Event is an event of a call: Requested, Evaluated, Approved or Denied, and after Approved: Started, Output, Completed.
type Event interface {
	// Type returns its name, for example "tool.call.requested".
	Type() string
}

// Requested means that an agent requested the call. It is the first event of an attempt.
type Requested struct {
	Class Class `json:"permission,omitempty"`
}

// Evaluated has the opinion of one party.
type Evaluated struct{ Opinion }

// Approved means that the call may run. An attempt gets either Approved or Denied, once.
type Approved struct {
	Snapshot Snapshot `json:"policy_snapshot"`
	// Actor is the person who allowed it, "" if it needed no approval; Reason is in that person's words.
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Denied means that the call does not run. No event follows.
type Denied struct {
	Snapshot Snapshot `json:"policy_snapshot"`
	Actor    string   `json:"actor,omitempty"`
	// Reason is the text for the agent.
	Reason string `json:"reason"`
	// Cancelled means that there was no decision, because the agent abandoned the call.
	Cancelled bool `json:"cancelled,omitempty"`
}

// Started means that the call is running.
type Started struct {
	Sandbox Confinement `json:"sandbox"`
}

// Output is output of a running call.
type Output struct {
	Stream string `json:"stream"` // stdout or stderr
	Delta  string `json:"delta"`
}

// Completed means that the call ended, with the first part of its output.
type Completed struct {
	Name         string      `json:"name"`
	ExecutedBy   string      `json:"executed_by"`   // "harness"
	ExecutionEnv string      `json:"execution_env"` // the sandbox: in_process, bubblewrap, docker
	Snapshot     Snapshot    `json:"policy_snapshot"`
	Sandbox      Confinement `json:"sandbox"`
	// ResultPreview is the result, or its beginning if ResultRef names the artifact with the whole.
	ResultPreview json.RawMessage `json:"result_preview"`
	ResultRef     json.RawMessage `json:"result_ref,omitempty"`
	IsError       bool            `json:"is_error"`
	Stdout        string          `json:"stdout,omitempty"`
	Stderr        string          `json:"stderr,omitempty"`
	DurationMS    int64           `json:"duration_ms"`
}

// Confinement describes how a call was confined.
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

// Recorder stores the events of calls. They are durable before the server acts on them or sends anything to an agent.
type Recorder interface {
	// Open gives a call its ID and Attempt and records Requested. cutOff means that an earlier attempt may have run
	// partly.
	Open(ctx context.Context, call Call, requested Requested) (opened Call, cutOff bool, err error)
	// Record adds events of a call, in order.
	Record(ctx context.Context, call Call, events ...Event) error
}

// Answer is a person's decision about a call.
type Answer struct {
	Allow bool
	// Actor is the decider, Reason the reason in that person's words.
	Actor, Reason string
}

// Approver asks a person. If the agent abandons the call, it withdraws the request and returns ctx's error.
type Approver interface {
	Ask(ctx context.Context, call Call, class Class, description string) (Answer, error)
}

// Artifacts stores results that are too long for an event, and returns the bytes that inputs refer to.
type Artifacts interface {
	// Content returns the bytes of an artifact of the call's session; its error goes to the agent.
	Content(ctx context.Context, call Call, id string) ([]byte, error)
	// Keep stores a result of a call and returns a reference to it, as JSON.
	Keep(ctx context.Context, call Call, name, contentType string, content []byte) (json.RawMessage, error)
}
