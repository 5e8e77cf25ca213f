package api

import (
	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

// runtimeHealth is one runtime of the server.
type runtimeHealth struct {
	Name    string        `json:"name"`
	Default bool          `json:"default"`
	State   runtime.State `json:"state"`
	// Reason explains why the runtime is not ready, and the remedy.
	Reason  string `json:"reason,omitempty"`
	Version string `json:"version,omitempty"`
	// Processes has a single entry, or one for each session in use. It omits the session, because health is public.
	// Waiting counts sessions that are queued for a process.
	Processes []processHealth `json:"processes"`
	Waiting   int             `json:"waiting"`
}

type processHealth struct {
	PID       int           `json:"pid"`
	State     runtime.State `json:"state"`
	StartedAt string        `json:"startedAt,omitempty"`
	Shim      *shimHealth   `json:"shim,omitempty"`
	// SessionID is the session of the process; health omits it.
	SessionID string `json:"sessionId,omitempty"`
}

func viewRuntime(one RuntimeHealth, position int) runtimeHealth {
	status := one.Status
	view := runtimeHealth{Name: one.Name, Default: position == 0, State: status.State, Version: status.Version,
		Waiting: status.Queued, Processes: []processHealth{}}
	if status.State != runtime.StateReady {
		view.Reason = status.Reason
	}
	for _, process := range status.Processes {
		view.Processes = append(view.Processes, processHealth{PID: process.PID, State: process.State,
			StartedAt: javascript.ISOTime(process.StartedAt.UnixMilli()), Shim: viewShim(process.Shim)})
	}
	if status.Processes == nil && status.PID != 0 {
		view.Processes = append(view.Processes,
			processHealth{PID: status.PID, State: status.State, Shim: viewShim(status.Shim)})
	}
	return view
}

// viewShim returns nil for a child of this server.
func viewShim(shim *runtime.ShimStatus) *shimHealth {
	if shim == nil {
		return nil
	}
	return &shimHealth{PID: shim.PID, Version: shim.Version, Servers: shim.Servers}
}
