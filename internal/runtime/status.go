package runtime

import "time"

// ProcessStatus is one process of a runtime with a process per conversation.
type ProcessStatus struct {
	PID        int
	Generation string
	// Serves is the session of the process.
	Serves    string
	State     State
	Shim      *ShimStatus
	StartedAt time.Time
}

// Of returns the state of the process of a session: its own, or that of the whole runtime.
func (s Status) Of(threadID string) State {
	for _, process := range s.Processes {
		if process.Serves == threadID {
			return process.State
		}
	}
	return s.State
}

// State is the state of the runtime process.
type State string

// The states of a runtime process.
const (
	StateStarting    State = "starting"
	StateReady       State = "ready"
	StateUnavailable State = "unavailable" // missing, or down until the next start attempt
	StateStopped     State = "stopped"
	// StateUnresponsive: the process runs but does not answer a health probe. Callers wait for it like for a starting
	// one.
	StateUnresponsive State = "unresponsive"
)

// Status describes the runtime process now.
type Status struct {
	State      State
	PID        int
	Generation string
	Version    string // as the runtime reports it, "" before it did
	// Reason explains in one line why the runtime is not ready and how to fix it.
	Reason string
	// Suspended means that the process of a ready runtime is stopped (SIGSTOP). The server detects it before a probe
	// fails.
	Suspended bool
	// Missing means that the program of an unavailable runtime is not on this machine.
	Missing  bool
	LastExit *Exit
	// Shim is the process that keeps the runtime alive across servers, nil for a child of this server.
	Shim     *ShimStatus
	Restarts int64
	// Processes are the processes of a runtime with one per conversation, in start order; the fields above summarize
	// them. nil for a runtime with a single process.
	Processes []ProcessStatus
	// Queued is the number of conversations that wait for a process because the limit is reached.
	Queued int
}

// ShimStatus is the state of a shim at the time this server attached.
type ShimStatus struct {
	PID int
	// Version is the shim's release, Servers the number of servers that attached to it, including this one.
	Version string
	Servers int64
}

// Exit describes how a runtime process ended.
type Exit struct {
	Code   *int    `json:"code"`
	Signal *string `json:"signal"`
	At     time.Time
	// Reason is why the server ended the runtime; "" when it exited by itself or on request.
	Reason string `json:"reason,omitempty"`
}
