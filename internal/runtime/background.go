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

// BackgroundTask is work of a conversation that goes on when its turn is over.
type BackgroundTask struct {
	// ID names it within its conversation; a runtime does not use one id twice.
	ID string
	// Kind is one of the kinds of background work; Command is what runs, or what an agent works at, in one line.
	Kind, Command string
	// TurnID is the turn that began it and ItemID the item that shows it; "" where the runtime does not say.
	TurnID, ItemID string
	// StartedAt is in ms, 0 when the runtime does not say.
	StartedAt int64
	// CanEnd says that EndBackground can end this one alone.
	CanEnd bool
	// Found says that the task was found among the processes of the runtime: tasks of a running turn are found,
	// too, and are part of that turn. Shared says that the task's conversation is unknown: it counts for the
	// one that had a turn at StartedAt. Dir is the folder it works in.
	Found, Shared bool
	Dir           string
}

// BackgroundChanged says which background work the conversation of its signal has now: all of it, not the difference. It
// shows clients no line of the runtime.
type BackgroundChanged struct{ Tasks []BackgroundTask }

func (BackgroundChanged) change() {}

// ErrNoBackground says that no such background work runs (any more).
var ErrNoBackground = errors.New("no such background work runs")

// Backgrounder is a runtime whose conversations may have work that goes on when a turn is over.
type Backgrounder interface {
	// ListBackground lists the background work of a conversation now. It starts no process: a conversation without one has
	// none.
	ListBackground(ctx context.Context, in ResumeThread) ([]BackgroundTask, error)
	// EndBackground ends one task and returns when its processes are gone. The end of a task that was ended so begins no
	// turn. ErrNoBackground when it is over; *UnsupportedError when it cannot be ended alone.
	EndBackground(ctx context.Context, in ResumeThread, id string) error
}

// Restarter is a runtime that changes the model and the levels of a conversation by another process, which would end the
// background work of the one that runs.
type Restarter interface {
	// RestartsFor reports whether a conversation has background work in a process that a message with these wishes would
	// replace. What is empty in them stays.
	RestartsFor(in StartTurn) bool
}
