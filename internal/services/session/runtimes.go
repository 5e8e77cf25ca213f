package session

import (
	"fmt"
	"strings"
)

// UnknownRuntimeError refuses a runtime that this server does not have.
type UnknownRuntimeError struct {
	Runtime string
	// Known are the names of its runtimes.
	Known []string
}

// Error implements error.
func (e *UnknownRuntimeError) Error() string {
	return fmt.Sprintf("this server has no runtime %q; it has %s (HARNESS_RUNTIMES)", e.Runtime,
		strings.Join(e.Known, ", "))
}

// RuntimeLevels are the default levels of a runtime's sessions; "" is that of all runtimes. Setting is the prefix of
// the settings that choose them, "" for a runtime without.
type RuntimeLevels struct{ ApprovalPolicy, Sandbox, Setting string }

// RuntimeLimits bound the concurrent load of one runtime; 0 is no bound.
type RuntimeLimits struct {
	// Turns bounds its running turns. A message that would begin one more waits for a slot, in the order of arrival.
	Turns int
	// Messages bounds the messages and new sessions on their way to it, including those that wait for a slot, a process
	// or the end of a turn. SessionMessages bounds those of one session. *LimitError refuses more.
	Messages, SessionMessages int
}

// Load is the current load of a runtime, and its limits.
type Load struct {
	Limits RuntimeLimits
	// Turns run; Messages are on their way, Waiting of them wait for a turn of another session to end.
	Turns, Messages, Waiting int
}

// LimitError refuses a message or a new session because too many are on their way. Nothing changed.
type LimitError struct {
	Runtime string
	// SessionID is the session whose limit it is, "" for the runtime's.
	SessionID string
	Limit     int
	// Setting is the setting of the limit.
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

// The stored lines of agents with translated output (runtime.Batch.Native).
const (
	// NativeRing keeps the last lines of each session in a nativelog.Ring.
	NativeRing = "ring"
	// NativeAll keeps every line as an event of the journal, which no client receives.
	NativeAll = "all"
)
