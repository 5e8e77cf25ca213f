package tools

import (
	"context"
	"encoding/json"
	"fmt"
)

// InProcess is the name for no sandbox: our own tools that limit themselves to the workspace.
const InProcess = "in_process"

// Sandbox runs a tool confined.
type Sandbox interface {
	// Name returns its name in events.
	Name() string
	// Check explains why it does not work on this machine and how to fix that; nil if it works.
	Check(ctx context.Context) error
	// Run runs a job of a tool and returns its output. It ends soon after ctx, and leaves no process behind.
	Run(ctx context.Context, tool Tool, job Job, limits Limits) (json.RawMessage, error)
	// Confinement describes how a job with these limits is confined.
	Confinement(limits Limits) Confinement
}

// Limits bound one run.
type Limits struct {
	// Network allows other machines; ReadOnly forbids changes of the workspace.
	Network, ReadOnly bool
	// Hidden lists paths (real, absolute) within the workspace that a run does not see.
	Hidden []string
	// OutputBytes bounds its output, separately for stdout, stderr and result. MemoryBytes, Processes and CPUSeconds
	// bound its resources, if the sandbox can enforce that. 0 means no bound.
	OutputBytes, MemoryBytes int64
	Processes, CPUSeconds    int
}

// inProcess runs the tool's function directly.
type inProcess struct{}

// NewInProcess makes a Sandbox without confinement.
func NewInProcess() Sandbox { return inProcess{} }

// Name implements Sandbox.
func (inProcess) Name() string { return InProcess }

// Check implements Sandbox.
func (inProcess) Check(context.Context) error { return nil }

// Confinement implements Sandbox.
func (inProcess) Confinement(limits Limits) Confinement {
	return Confinement{Kind: InProcess, Network: limits.Network}
}

// Run implements Sandbox. A panic fails only this run.
func (inProcess) Run(ctx context.Context, tool Tool, job Job, _ Limits) (output json.RawMessage, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			output, err = nil, fmt.Errorf("the tool %s broke: %v", tool.Name, fault)
		}
	}()
	return tool.Run(ctx, job)
}
