package opencode

import (
	"context"

	"harness/internal/runtime"
	"harness/internal/runtime/process/commands"
)

// ListBackground implements runtime.Backgrounder. OpenCode keeps no list of what it has started, and does not tell a
// command which conversation it is for: its processes are looked through.
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
