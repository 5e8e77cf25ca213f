package session

import (
	"fmt"
	"strings"
)

// UnknownRuntimeError refuses a runtime this server does not have.
type UnknownRuntimeError struct {
	Runtime string
	// Known are the names of those it has.
	Known []string
}

// Error implements error.
func (e *UnknownRuntimeError) Error() string {
	return fmt.Sprintf("this server has no runtime %q; it has %s (HARNESS_RUNTIMES)", e.Runtime,
		strings.Join(e.Known, ", "))
}

// RuntimeLevels are the levels of a runtime's sessions whose creator names none; "" is that of all runtimes. Setting is
// what the names of the settings that choose them begin with, "" for a runtime without.
type RuntimeLevels struct{ ApprovalPolicy, Sandbox, Setting string }

// RuntimeLimits bound what one runtime has to do at once; 0 is no bound.
type RuntimeLimits struct {
	// Turns is how many of its turns may run. A message that would begin one more waits for a place, in the order of
	// arrival.
	Turns int
	// Messages is how many messages and new sessions may be on their way to it, those that wait for a place, a process or
	// the end of a turn among them. SessionMessages is how many messages of one session may be. More are refused with
	// *LimitError.
	Messages, SessionMessages int
}

// Load is what a runtime has to do now, and the most it may have.
type Load struct {
	Limits RuntimeLimits
	// Turns run; Messages are on their way, Waiting of them wait for a turn of another session to end.
	Turns, Messages, Waiting int
}

// LimitError refuses a message or a new session because too many are on their way already. Nothing was done.
type LimitError struct {
	Runtime string
	// SessionID is the session whose limit it is, "" for the runtime's.
	SessionID string
	Limit     int
	// Setting is what sets the limit.
	Setting string
}

// Error implements error.
func (e *LimitError) Error() string {
	whose := "runtime " + e.Runtime
	if e.SessionID != "" {
		whose = "session " + e.SessionID
	}
	return fmt.Sprintf(
		"%d messages of %s are on their way already, which is as many as there may be (%s): send it again later", e.Limit,
		whose, e.Setting)
}

// What is kept of the lines of agents whose words are translated (runtime.Batch.Native).
const (
	// NativeRing keeps the last lines of each session in a nativelog.Ring.
	NativeRing = "ring"
	// NativeAll keeps every line as an event of the journal, which shows to no client.
	NativeAll = "all"
)
