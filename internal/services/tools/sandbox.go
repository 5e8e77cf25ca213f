package tools

import (
	"context"
	"encoding/json"
	"fmt"
)

// InProcess is the name of no sandbox: our own tools that limit themselves to the workspace.
const InProcess = "in_process"

// Sandbox runs a tool confined.
type Sandbox interface {
	// Name is the name in events.
	Name() string
	// Check says why it does not work on this machine and what the remedy is; nil if it works.
	Check(ctx context.Context) error
	// Run does a job of a tool and returns its output. It ends soon after ctx, and leaves no process behind.
	Run(ctx context.Context, tool Tool, job Job, limits Limits) (json.RawMessage, error)
	// Confinement says how a job with these limits is confined.
	Confinement(limits Limits) Confinement
}

// Limits bound one run.
type Limits struct {
	// Network allows other machines, ReadOnly denies changes of the workspace.
	Network, ReadOnly bool
	// Hidden are places (real paths, absolute) that are not there for a run though they are within the workspace.
	Hidden []string
	// OutputBytes bounds what it says, each of stdout, stderr and result; MemoryBytes, Processes and CPUSeconds what it
	// uses, where the sandbox can hold a run to it; 0 is no bound.
	OutputBytes, MemoryBytes int64
	Processes, CPUSeconds    int
}

// inProcess runs the tool's own function.
type inProcess struct{}

// NewInProcess makes the sandbox that is none.
func NewInProcess() Sandbox { return inProcess{} }

// Name implements Sandbox.
func (inProcess) Name() string { return InProcess }

// Check implements Sandbox.
func (inProcess) Check(context.Context) error { return nil }

// Confinement implements Sandbox.
func (inProcess) Confinement(limits Limits) Confinement {
	return Confinement{Kind: InProcess, Network: limits.Network}
}

// Run implements Sandbox. A run that panics has failed, and harms no other.
func (inProcess) Run(ctx context.Context, tool Tool, job Job, _ Limits) (output json.RawMessage, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			output, err = nil, fmt.Errorf("the tool %s broke: %v", tool.Name, fault)
		}
	}()
	return tool.Run(ctx, job)
}
