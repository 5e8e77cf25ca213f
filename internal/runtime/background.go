package runtime

import (
	"context"
	"errors"
)

// Kinds of background work.
const (
	BackgroundCommand = "command"
	BackgroundAgent   = "agent"
	BackgroundMonitor = "monitor"
)

// BackgroundTask is work that a conversation started and that continues after the turn.
type BackgroundTask struct {
	// ID identifies the task in its conversation; a runtime never reuses an id.
	ID string
	// Kind is one of the kinds of background work. Command is the command, or the task of an agent, in one line.
	Kind, Command string
	// TurnID is the turn that started the task, ItemID the item that shows it; "" when the runtime does not report
	// them.
	TurnID, ItemID string
	// StartedAt is in ms, 0 when the runtime does not report it.
	StartedAt int64
	// CanEnd reports whether EndBackground can end this task alone.
	CanEnd bool
	// Found means that the adapter found the task among the runtime's processes. That search also finds the processes
	// of a running turn. Shared means that the task's conversation is unknown: it belongs to the one with a turn at
	// StartedAt. Dir is its working directory.
	Found, Shared bool
	Dir           string
}

// BackgroundChanged has all background work of the signal's conversation, not a difference. Clients do not get a
// runtime line for it.
type BackgroundChanged struct{ Tasks []BackgroundTask }

func (BackgroundChanged) change() {}

// ErrNoBackground means that no such background task is running.
var ErrNoBackground = errors.New("no such background work runs")

// Backgrounder is a runtime with conversations that may have work after a turn.
type Backgrounder interface {
	// ListBackground lists the current background work of a conversation. It starts no process: without a process
	// there is no such work.
	ListBackground(ctx context.Context, in ResumeThread) ([]BackgroundTask, error)
	// EndBackground ends one task and returns after its processes have exited. This starts no turn. It returns
	// ErrNoBackground when the task has ended, and *UnsupportedError when it cannot end alone.
	EndBackground(ctx context.Context, in ResumeThread, id string) error
}

// Restarter is a runtime that restarts a conversation's process to change its model or levels. That ends the background
// work of the process.
type Restarter interface {
	// RestartsFor reports whether a message with these settings would replace a process with background work. Empty
	// fields change nothing.
	RestartsFor(in StartTurn) bool
}
