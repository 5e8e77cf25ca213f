package opencode

import (
	"context"

	"harness/internal/runtime"
	"harness/internal/runtime/process/commands"
)

// ListBackground implements runtime.Backgrounder. OpenCode does not list its commands, and a command has no record of
// its conversation, so it searches OpenCode's processes.
func (o *OpenCode) ListBackground(_ context.Context, in runtime.ResumeThread) ([]runtime.BackgroundTask, error) {
	return o.commands().Tasks(in.NativeID)
}

// EndBackground implements runtime.Backgrounder.
func (o *OpenCode) EndBackground(ctx context.Context, _ runtime.ResumeThread, id string) error {
	return o.commands().End(ctx, id)
}

func (o *OpenCode) commands() commands.Process {
	status := o.process.Status()
	return commands.Process{Generation: status.Generation, Agent: status.PID}
}
