// Package tools owns this server's own tools for agents: the available tools (Registry), whether a call may run
// (Policy), and how it runs and is recorded (Executor).
//
// It must never know a runtime, a protocol or a route: internal/services/tools/mcphost offers the tools to agents, and
// the session package asks a person.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Class is what a tool can affect, from harmless to anything.
type Class string

// The classes of tools.
const (
	ReadOnly  Class = "read-only" // reads the workspace
	Write     Class = "write"     // changes the workspace
	Network   Class = "network"   // connects to other machines
	Dangerous Class = "dangerous" // runs programs
)

// Classes lists them all.
func Classes() []Class { return []Class{ReadOnly, Write, Network, Dangerous} }

// Tool is one tool.
type Tool struct {
	// Name has a namespace: "workspace.read". Description is for the model.
	Name, Description string
	Class             Class
	// Input and Output are JSON Schemas of objects. An input or output that they do not allow is refused.
	Input, Output json.RawMessage
	// Config is the tool's configuration, which a run gets besides its input.
	Config json.RawMessage
	// Artifact is the member of the input that names an artifact of the call's session, "" for none. A run gets its
	// bytes; the approved, hashed and recorded input has only the reference.
	Artifact string
	// Unheld means that it runs in no sandbox, whatever its class: it is the operator's own program.
	Unheld bool
	// Timeout bounds a run; 0 means the executor's default.
	Timeout time.Duration
	// Run does the work. The agent gets the text of its error; it must return when ctx ends.
	Run func(ctx context.Context, job Job) (json.RawMessage, error)
}

// Job is the input of a run. Its Input was validated.
type Job struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Config is the tool's.
	Config json.RawMessage `json:"config,omitempty"`
	// Artifact has the bytes of the artifact that the input names, nil for none.
	Artifact []byte `json:"artifact,omitempty"`
	// Workspace is the absolute path of the folder that the tool works in.
	Workspace string `json:"workspace"`
	// SessionID and TurnID identify the call's session and turn, TurnID "" if unknown.
	SessionID string `json:"-"`
	TurnID    string `json:"-"`
	// Stdout and Stderr receive output before the run's end. Never nil; writes fail once the output is no longer
	// needed.
	Stdout, Stderr io.Writer `json:"-"`
}

// Error is a failure of a run, worded for the agent. The agent also gets the text of any other error of Run; this one
// adds nothing to its message.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Failf makes an Error.
func Failf(format string, args ...any) error { return &Error{Message: fmt.Sprintf(format, args...)} }
