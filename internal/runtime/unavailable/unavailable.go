// Package unavailable replaces a runtime that the server cannot use as configured: each of its answers has the
// reason.
//
// It owns nothing. It must never know the source of the reason.
package unavailable

import (
	"context"
	"fmt"

	"harness/internal/runtime"
)

// Runtime is the adapter. Make it with New.
type Runtime struct{ name, reason string }

var _ runtime.Adapter = (*Runtime)(nil)

// New makes the replacement of a runtime. reason explains the failure and its remedy.
func New(name, reason string) *Runtime { return &Runtime{name, reason} }

func (r *Runtime) refusal() error { return fmt.Errorf("%w: %s", runtime.ErrUnavailable, r.reason) }

// Name implements runtime.Adapter.
func (r *Runtime) Name() string { return r.name }

// Capabilities implements runtime.Adapter. It refuses no level, so that a caller that opens a session gets the reason
// instead.
func (r *Runtime) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{ProcessPer: runtime.ProcessPerRuntime, NativeToolsOff: true,
		Sandboxes:        []string{"read-only", "workspace-write", "danger-full-access"},
		ApprovalPolicies: []string{"untrusted", "on-failure", "on-request", "never"},
		NetworkAccess:    []string{"restricted", "enabled"}}
}

// Status implements runtime.Adapter.
func (r *Runtime) Status() runtime.Status {
	return runtime.Status{State: runtime.StateUnavailable, Reason: r.reason}
}

// Auth implements runtime.Adapter.
func (r *Runtime) Auth(context.Context) (runtime.AuthStatus, error) {
	return runtime.AuthStatus{State: runtime.AuthUnknown, Credentials: []string{}, Remedy: r.reason}, nil
}

// Models implements runtime.Adapter.
func (r *Runtime) Models(context.Context) ([]runtime.Model, error) { return nil, r.refusal() }

// Start implements runtime.Adapter.
func (r *Runtime) Start(context.Context) error { return nil }

// Stop implements runtime.Adapter.
func (r *Runtime) Stop(context.Context) error { return nil }

// Threads implements runtime.Adapter.
func (r *Runtime) Threads() runtime.Threads { return r }

// StartThread implements runtime.Threads.
func (r *Runtime) StartThread(context.Context, runtime.StartThread) (runtime.Thread, error) {
	return runtime.Thread{}, r.refusal()
}

// ResumeThread implements runtime.Threads.
func (r *Runtime) ResumeThread(context.Context, runtime.ResumeThread) (runtime.Thread, error) {
	return runtime.Thread{}, r.refusal()
}

// CloseThread implements runtime.Threads: there is nothing to release.
func (r *Runtime) CloseThread(context.Context, string) error { return nil }

// StartTurn implements runtime.Threads.
func (r *Runtime) StartTurn(context.Context, runtime.StartTurn) (runtime.StartedTurn, error) {
	return runtime.StartedTurn{}, r.refusal()
}

// InterruptTurn implements runtime.Threads.
func (r *Runtime) InterruptTurn(context.Context, string, string) error { return r.refusal() }

// CheckReply implements runtime.Threads.
func (r *Runtime) CheckReply(runtime.RequestRef, runtime.Reply) error { return nil }

// Answer implements runtime.Threads.
func (r *Runtime) Answer(context.Context, runtime.RequestRef, runtime.Reply) error {
	return r.refusal()
}

// ForgetThread implements runtime.Forgetter: the server removes the stored conversation once the runtime works again.
func (r *Runtime) ForgetThread(context.Context, runtime.ResumeThread) (int, error) {
	return 0, r.refusal()
}
