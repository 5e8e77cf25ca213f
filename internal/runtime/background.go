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

// BackgroundTask is work of a conversation that continues after its turn.
type BackgroundTask struct {
	// ID identifies the task in its conversation; a runtime never reuses an id.
	ID string
	// Kind is one of the kinds of background work. Command is the command, or the task of an agent, in one line.
	Kind, Command string
	// TurnID is the turn that began it and ItemID the item that shows it; "" where the runtime does not say.
	TurnID, ItemID string
	// StartedAt is in ms, 0 when the runtime does not say.
	StartedAt int64
	// CanEnd says that EndBackground can end this one alone.
	CanEnd bool
	// Found says that the task was found among the runtime's processes, where those of a running turn appear too. Shared
	// says that its conversation is unknown: it belongs to the one with a turn at StartedAt. Dir is its working
	// directory.
	Found, Shared bool
	Dir           string
}

// BackgroundChanged has all background work of the signal's conversation, not the difference. It passes no line of the
// runtime to clients.
type BackgroundChanged struct{ Tasks []BackgroundTask }

func (BackgroundChanged) change() {}

// ErrNoBackground says that no such background task is running.
var ErrNoBackground = errors.New("no such background work runs")

// Backgrounder is a runtime whose conversations may have work that continues after a turn.
type Backgrounder interface {
	// ListBackground lists the current background work of a conversation. It starts no process: without one there is
	// none.
	ListBackground(ctx context.Context, in ResumeThread) ([]BackgroundTask, error)
	// EndBackground ends one task and returns when its processes are gone. This starts no turn. ErrNoBackground when the
	// task has ended; *UnsupportedError when it cannot end alone.
	EndBackground(ctx context.Context, in ResumeThread, id string) error
}

// Restarter is a runtime that restarts a conversation's process to change its model or levels. That ends the background
// work of the process.
type Restarter interface {
	// RestartsFor reports whether a message with these settings would replace a process with background work. Empty
	// fields change nothing.
	RestartsFor(in StartTurn) bool
}
