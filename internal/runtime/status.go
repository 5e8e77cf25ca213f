package runtime

import "time"

// ProcessStatus is one process of a runtime that has one for each conversation.
type ProcessStatus struct {
	PID        int
	Generation string
	// Serves is the session it is for.
	Serves    string
	State     State
	Shim      *ShimStatus
	StartedAt time.Time
}

// Of is the state of what serves a conversation: its own process, or the runtime as a whole.
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
	StateUnavailable State = "unavailable" // missing, or down and waiting for the next try
	StateStopped     State = "stopped"
	// StateUnresponsive: the process is there and does not answer a health probe. Callers wait for it as for one that is
	// starting.
	StateUnresponsive State = "unresponsive"
)

// Status describes the runtime process now.
type Status struct {
	State      State
	PID        int
	Generation string
	Version    string // as the runtime reports it, "" before it did
	// Reason says in one line why the runtime is not ready and what to do about it.
	Reason string
	// Suspended says of a runtime that is ready that its process is stopped (SIGSTOP). It is known before any
	// probe is left unanswered.
	Suspended bool
	// Missing says of an unavailable runtime that its program is not on this machine.
	Missing  bool
	LastExit *Exit
	// Shim is the process that keeps the runtime running while servers come and go, nil for a child of this server.
	Shim     *ShimStatus
	Restarts int64
	// Processes are those of a runtime with one for each conversation, in the order they were started; the fields above
	// sum them up. nil for a runtime with one process for all, which the fields above describe.
	Processes []ProcessStatus
	// Waiting is how many conversations wait for a process because there are as many as there may be.
	Waiting int
}

// ShimStatus is a shim as it was when this server attached.
type ShimStatus struct {
	PID int
	// Version is the release the shim is of, Servers how many have attached to it, this one included.
	Version string
	Servers int64
}

// Exit says how a runtime process ended.
type Exit struct {
	Code   *int    `json:"code"`
	Signal *string `json:"signal"`
	At     time.Time
	// Reason says why the runtime was ended, when it did not end by itself or on request; "" otherwise.
	Reason string `json:"reason,omitempty"`
}
