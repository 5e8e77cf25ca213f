package acp

import (
	"context"

	"harness/internal/runtime"
)

// requireNoNativeTools refuses a conversation with native tools disabled: no agent behind this protocol can disable
// them. Gemini CLI reads such settings only from a folder that root owns, with all its parents.
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
