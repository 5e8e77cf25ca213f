package runtime

import (
	"context"
	"encoding/json"
	"fmt"
)

// Steerer is a runtime that takes input into a running turn.
type Steerer interface {
	// SteerTurn adds input to a running turn. ErrNoActiveTurn when that turn does not run.
	SteerTurn(ctx context.Context, threadID, turnID string, input []json.RawMessage) error
}

// Namer is a runtime that may name its conversations itself.
type Namer interface {
	// NamesThreads says that StartThread answers with another Thread.ID than SessionID.
	NamesThreads() bool
}

// Historian is a runtime that can list the conversations it has stored.
type Historian interface {
	// ListThreads returns one page of stored conversations, newest first.
	ListThreads(ctx context.Context, in ListThreads) (ThreadPage, error)
	// ReadThread returns a stored conversation, with its turns when withTurns is set. ErrThreadNotFound when the runtime
	// has none.
	ReadThread(ctx context.Context, threadID string, withTurns bool) (Thread, error)
}

// Librarian is a runtime that keeps names of its conversations and can put them away. ErrThreadNotFound when it has no
// such conversation.
type Librarian interface {
	// NameThread, ArchiveThread and UnarchiveThread change a stored conversation.
	NameThread(ctx context.Context, threadID, name string) error
	ArchiveThread(ctx context.Context, threadID string) error
	UnarchiveThread(ctx context.Context, threadID string) (Thread, error)
	// DeleteThread removes the conversation from the runtime's storage and returns how many files went with it. Unknown
	// threads are no error.
	DeleteThread(ctx context.Context, threadID string) (deletedFiles int, err error)
}

// Forgetter is a runtime that is no Librarian, and has files of a conversation that are to go with it.
type Forgetter interface {
	// ForgetThread removes what is stored of a conversation, ends its process, and returns how many files went. Unknown
	// ones are no error. ErrTurnActive while it is used.
	ForgetThread(ctx context.Context, in ResumeThread) (deletedFiles int, err error)
}

// Ender is a runtime that can end the process of a conversation whatever it does.
type Ender interface {
	// EndProcess kills the process that serves a conversation, with all that it started, and returns when it is gone; without
	// one it does nothing. The turns in it end with it. It may serve other conversations (Capabilities.ProcessPer).
	EndProcess(ctx context.Context, threadID, reason string) error
}

// Reverter is a runtime that can take back the last turns of a conversation.
type Reverter interface {
	// LastTurns lists the last turns, newest first, at most limit.
	LastTurns(ctx context.Context, threadID string, limit int) ([]Turn, error)
	// RollBack takes back the last numTurns turns; last are the newest ones as LastTurns lists them. *TooFewTurnsError.
	RollBack(ctx context.Context, threadID string, numTurns int, last []Turn) (RolledBack, error)
}

// Forker is a runtime that can continue a conversation in a second one.
type Forker interface {
	// ForkThread makes a conversation with the history of another one; its ID is that of the session it becomes.
	ForkThread(ctx context.Context, threadID string) (Thread, error)
}

// Compactor is a runtime that can shorten what it remembers of a conversation.
type Compactor interface {
	// CompactThread begins to; it returns the runtime's own answer.
	CompactThread(ctx context.Context, threadID string) (json.RawMessage, error)
}

// TerminalCleaner is a runtime whose conversations may leave programs running behind their turns.
type TerminalCleaner interface {
	// CleanTerminals ends them; it returns the runtime's own answer.
	CleanTerminals(ctx context.Context, threadID string) (json.RawMessage, error)
}

// Reviewer is a runtime that can review changes in a turn of its own.
type Reviewer interface {
	// ReviewThread begins a review; it returns the runtime's own answer.
	ReviewThread(ctx context.Context, threadID string, review Review) (json.RawMessage, error)
}

// Passer is a runtime whose own requests can be passed through, for routes that are about this provider alone.
type Passer interface {
	// Call makes one request in the provider's words; params nil sends none.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// FailureReader is a runtime whose turns report more about their failure than the vocabulary's word for it.
type FailureReader interface {
	// FailureKind is the Kind of a failed turn, whose Error and Kind are as its description (Turn.Native) has them.
	FailureKind(turn Turn) error
}

// Portable is a runtime whose memory of a conversation is files of lines that only grow, and of which it takes the same
// ones, written by another of its kind on another machine, for its own.
type Portable interface {
	// MemoryFiles names those of a conversation, with slashes and below a folder that each machine has its own of; none
	// when there are none (yet).
	MemoryFiles(in ResumeThread) (folder string, names []string, err error)
	// MemoryWritten reports whether all that the runtime has said in a conversation is in them: it may write a moment later.
	MemoryWritten(ctx context.Context, in ResumeThread) (bool, error)
	// MemoryPlace is where a file that another machine calls name goes here for a conversation that works in cwd, with slashes
	// and below the same folder. What the runtime needs to find it there is made, and the conversation is read anew from it.
	MemoryPlace(in ResumeThread, cwd, name string) (string, error)
}

// Words for what an adapter may be able to do, as in UnsupportedError.Operation.
const (
	OpSteer     = "steer"
	OpHistory   = "history"
	OpLibrary   = "names and archives"
	OpRevert    = "rollback"
	OpFork      = "fork"
	OpCompact   = "compact"
	OpTerminals = "background terminals"
	OpReview    = "review"
	OpImages    = "images"
	OpTools     = "client tools"
	OpMove      = "go on at another node"
	OpLogin     = "login"
	OpKey       = "login with a key"
)

// UnsupportedError says that a runtime cannot do what was asked. It matches ErrUnsupported.
type UnsupportedError struct {
	Runtime, Operation string
	// Remedy says what to do instead, "" when nothing is known.
	Remedy string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	if e.Remedy != "" {
		return fmt.Sprintf("the %s runtime cannot do this: %s; %s", e.Runtime, e.Operation, e.Remedy)
	}
	return fmt.Sprintf("the %s runtime cannot do this: %s; its capabilities list what it can do", e.Runtime, e.Operation)
}

// Unwrap makes errors.Is match ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// Selective is an adapter whose agents differ: what a method of it does, the one that runs may not offer.
type Selective interface {
	// Offers reports whether an operation (OpSteer, ...) works with the agent of this adapter.
	Offers(operation string) bool
}

// Has is the part of an adapter that does an operation, and whether it has one.
func Has[T any](adapter Adapter, operation string) (T, bool) {
	part, ok := adapter.(T)
	if selective, is := adapter.(Selective); ok && is && !selective.Offers(operation) {
		var none T
		return none, false
	}
	return part, ok
}

// As is Has, with a *UnsupportedError when there is no such part.
func As[T any](adapter Adapter, operation string) (T, error) {
	part, ok := Has[T](adapter, operation)
	if !ok {
		return part, &UnsupportedError{Runtime: adapter.Name(), Operation: operation}
	}
	return part, nil
}
