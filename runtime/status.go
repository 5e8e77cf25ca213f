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
