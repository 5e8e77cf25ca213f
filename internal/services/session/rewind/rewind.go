// Package rewind takes a session back to the moment before one of its turns: the files of its folder, and its
// conversation. A rewind can be undone.
//
// It owns rewinds and their steps. Each step is stored before the next one begins, and a killed server's rewind is
// finished by the next one. It must never know how states of folders are stored, nor how a runtime works.
package rewind

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/workingtree"
	"harness/transcript"
)

// Trees has the states of folders.
type Trees interface {
	PlanRewind(ctx context.Context, sessionID, folder, turnID string) (workingtree.Rewind, error)
	PlanUndo(ctx context.Context, folder, now, then string) (workingtree.Rewind, error)
	KeepStates(ctx context.Context, step workingtree.Step) error
	Restore(ctx context.Context, step workingtree.Step) error
}

// Options configure Rewinds. Trees may be nil: then files are refused.
type Options struct {
	Journal *journal.Journal
	DB      *database.DB
	NodeID  string
	Locks   *keylock.Locks // of sessions
	// Owned finds a session of this node and its runtime.
	Owned func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	// ActiveTurn returns the running turn of a session, "" for none.
	ActiveTurn func(sess session.Session) string
	// Background lists the background work of a session.
	Background func(ctx context.Context, sessionID string) ([]session.BackgroundTask, error)
	// RollBack takes back the last turns of a locked session in its runtime and its transcript.
	RollBack func(ctx context.Context, sess session.Session, adapter runtime.Adapter, numTurns int) error
	// SettleRollback settles an earlier call of RollBack.
	SettleRollback func(ctx context.Context, sess session.Session, onItsWay bool) error
	Trees          Trees
	Logger         zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
	// Step, when set, is called around each step. Tests end the server there.
	Step func(name string)
}

// Rewinds rewinds sessions.
type Rewinds struct {
	options Options
	entries transcript.Store
}

// New builds Rewinds.
func New(o Options) *Rewinds {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	return &Rewinds{options: o}
}

// Request is a requested rewind.
type Request struct {
	// TurnID is the first turn to take back. Undo is instead the rewind to undo.
	TurnID, Undo string
	// Files and Conversation are what is rewound.
	Files, Conversation bool
	// Force rewinds files that were changed by someone else since, too.
	Force bool
	// DryRun only reports what would happen.
	DryRun bool
}

// The outcomes of a conversation.
const (
	RolledBack = "rolledBack" // by the runtime
	Retold     = "retold"     // the next message begins it anew, with what is left
	Kept       = "kept"       // the agent still knows it, or it was not to be rewound
)

// Result is a rewind, or what it would do.
type Result struct {
	ID string
	// TurnID is the first turn, Turns are all turns that leave the transcript or return to it.
	TurnID string
	Turns  []string
	// Files is the number of files that change.
	Files int
	// Changed are files that were changed by someone else since.
	Changed []string
	// Conversation is what became of the conversation.
	Conversation string
	// Undoes is the rewind that this one undid, "" for none.
	Undoes string
}

// SharedError refuses a rewind while another session works in the folder.
type SharedError struct{ SessionID string }

// Error implements error.
func (e *SharedError) Error() string {
	return fmt.Sprintf("session %s works in the same folder; wait until its turn ends", e.SessionID)
}

// NotUndoableError refuses to undo a rewind.
type NotUndoableError struct{ ID, Reason string }

// Error implements error.
func (e *NotUndoableError) Error() string {
	return fmt.Sprintf("rewind %s cannot be undone: %s", e.ID, e.Reason)
}
