package session

import (
	"fmt"
	"strings"
)

// UnknownRuntimeError refuses a runtime that this server does not have.
type UnknownRuntimeError struct {
	Runtime string
	// Known lists the names of the server's runtimes.
	Known []string
}

// Error implements error.
func (e *UnknownRuntimeError) Error() string {
	return fmt.Sprintf("this server has no runtime %q; it has %s (HARNESS_RUNTIMES)", e.Runtime,
		strings.Join(e.Known, ", "))
}

// RuntimeLevels are the default levels of a runtime's sessions; "" uses the default of all runtimes. Setting is the
// prefix of the settings that choose them, "" for a runtime without such settings.
type RuntimeLevels struct{ ApprovalPolicy, Sandbox, Setting string }

// RuntimeLimits limit the concurrent load of one runtime; 0 means no limit.
type RuntimeLimits struct {
	// Turns limits its running turns. Once it is reached, messages that would start a turn wait for a slot in order of
	// arrival.
	Turns int
	// Messages limits the messages and new sessions being sent to the runtime. It includes those that wait for a slot,
	// a process or the end of a turn. SessionMessages limits those of one session. *LimitError refuses more.
	Messages, SessionMessages int
}

// Load is the current load of a runtime, and its limits.
type Load struct {
	Limits RuntimeLimits
	// Turns is the number of running turns. Messages are being sent; Waiting of them wait for a turn of another
	// session to end.
	Turns, Messages, Waiting int
}

// LimitError refuses a message or a new session because too many are being sent. Nothing changed.
type LimitError struct {
	Runtime string
	// SessionID is the session that reached its limit, "" if the runtime did.
	SessionID string
	Limit     int
	// Setting is the name of the setting that sets the limit.
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

// How the lines of agents with translated output are stored (runtime.Batch.Native).
const (
	// NativeRing keeps the last lines of each session in a nativelog.Ring.
	NativeRing = "ring"
	// NativeAll stores every line as a journal event, which no client receives.
	NativeAll = "all"
)
