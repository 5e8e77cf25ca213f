// Package tools owns the tools that this server gives to agents itself: the tools there are (Registry),
// whether a call may run (Policy), and how one runs and is recorded (Executor).
//
// It must never know a runtime, a protocol or a route: internal/services/tools/mcphost offers the tools to
// agents, and the package that keeps sessions asks a person.
package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Class is what a tool can do to the world, from harmless to anything.
type Class string

// The classes of tools.
const (
	ReadOnly  Class = "read-only" // reads the workspace
	Write     Class = "write"     // changes the workspace
	Network   Class = "network"   // talks to other machines
	Dangerous Class = "dangerous" // runs programs
)

// Classes lists them all.
func Classes() []Class { return []Class{ReadOnly, Write, Network, Dangerous} }

// Tool is one tool.
type Tool struct {
	// Name has a namespace: "workspace.read". Description is for the model.
	Name, Description string
	Class             Class
	// Input and Output are JSON Schemas of objects. What they do not allow is neither run nor answered with.
	Input, Output json.RawMessage
	// Config is what a run gets besides its input: its configuration.
	Config json.RawMessage
	// Artifact is the member of the input that names an artifact of the call's session, "" for none: a run is given its
	// bytes, while what is approved, hashed and recorded has the reference alone.
	Artifact string
	// Unheld says that it runs in no sandbox, whatever its class: it is the operator's own program.
	Unheld bool
	// Timeout bounds a run; 0 means the executor's default.
	Timeout time.Duration
	// Run does the work. The agent gets the text of its error; it must end when ctx does.
	Run func(ctx context.Context, job Job) (json.RawMessage, error)
}

// Job is what a run gets. Its input was validated.
type Job struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Config is the tool's.
	Config json.RawMessage `json:"config,omitempty"`
	// Artifact are the bytes of the artifact that the input names, nil for none.
	Artifact []byte `json:"artifact,omitempty"`
	// Workspace is the folder that the tool works in, absolute.
	Workspace string `json:"workspace"`
	// SessionID and TurnID are where the call belongs, TurnID "" when it is not known.
	SessionID string `json:"-"`
	TurnID    string `json:"-"`
	// Stdout and Stderr receive output before the run's end. Never nil; they fail once the output is not
	// wanted any more.
	Stdout, Stderr io.Writer `json:"-"`
}

// Error is a failure of a run in words for the agent. Any other error of Run is sent as its own text, too;
// this one adds nothing to its message.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Failf makes an Error.
func Failf(format string, args ...any) error { return &Error{Message: fmt.Sprintf(format, args...)} }
