package acp

import (
	"context"

	"harness/internal/runtime"
)

// requireNoNativeTools refuses a conversation that is to have none of the agent's own tools: no agent behind this
// protocol can be told so. Gemini CLI reads its settings for that only where root owns them and every folder above.
func (r *Runtime) requireNoNativeTools(ctx context.Context, thread string) error {
	if r.nativeToolsOff == nil {
		return nil
	}
	off, err := r.nativeToolsOff(ctx, thread)
	if err == nil && off {
		err = &runtime.ControlError{Runtime: r.profile.Name, Field: "nativeTools", Value: runtime.NativeToolsOff}
	}
	return err
}
