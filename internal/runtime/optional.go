package runtime

import (
	"context"
	"encoding/json"
	"fmt"
)

// Steerer is a runtime that accepts input into a running turn.
type Steerer interface {
	// SteerTurn adds input to a running turn. It returns ErrNoActiveTurn when that turn is not running.
	SteerTurn(ctx context.Context, threadID, turnID string, input []json.RawMessage) error
}

// Namer is a runtime that can choose the ids of its conversations.
type Namer interface {
	// NamesThreads reports whether StartThread returns a Thread.ID that differs from SessionID.
	NamesThreads() bool
}

// History is a runtime that can list the conversations it has stored.
type History interface {
	// ListThreads returns one page of stored conversations, newest first.
	ListThreads(ctx context.Context, in ListThreads) (ThreadPage, error)
	// ReadThread returns a stored conversation, with its turns when withTurns is set. It returns ErrThreadNotFound
	// when the runtime has none.
	ReadThread(ctx context.Context, threadID string, withTurns bool) (Thread, error)
}

// Archiver is a runtime that stores the names of its conversations and can archive them. Its methods return
// ErrThreadNotFound for an unknown conversation.
type Archiver interface {
	// NameThread, ArchiveThread and UnarchiveThread change a stored conversation.
	NameThread(ctx context.Context, threadID, name string) error
	ArchiveThread(ctx context.Context, threadID string) error
	UnarchiveThread(ctx context.Context, threadID string) (Thread, error)
	// DeleteThread removes the conversation from the runtime's storage and returns the number of deleted files. An
	// unknown thread is not an error.
	DeleteThread(ctx context.Context, threadID string) (deletedFiles int, err error)
}

// Forgetter is a runtime without Archiver that can delete the files of a conversation.
type Forgetter interface {
	// ForgetThread deletes the stored data of a conversation, ends its process, and returns the number of deleted
	// files. An unknown thread is not an error. It returns ErrTurnActive while the conversation is in use.
	ForgetThread(ctx context.Context, in ResumeThread) (deletedFiles int, err error)
}

// Ender is a runtime that can end the process of a conversation in any state.
type Ender interface {
	// EndProcess kills the process of a conversation with all its children, and returns after it has exited. Its
	// turns end with it. Without a process it does nothing. The process may serve other conversations
	// (Capabilities.ProcessPer).
	EndProcess(ctx context.Context, threadID, reason string) error
}

// Reverter is a runtime that can remove the last turns of a conversation.
type Reverter interface {
	// LastTurns lists the last turns, newest first, at most limit.
	LastTurns(ctx context.Context, threadID string, limit int) ([]Turn, error)
	// RollBack removes the last numTurns turns; last are the newest turns from LastTurns. It may return
	// *TooFewTurnsError.
	RollBack(ctx context.Context, threadID string, numTurns int, last []Turn) (RolledBack, error)
}

// Forker is a runtime that can fork a conversation.
type Forker interface {
	// ForkThread creates a conversation with the history of another one. The ID of the result is that of the new
	// session.
	ForkThread(ctx context.Context, threadID string) (Thread, error)
}

// Compactor is a runtime that can shorten the context of a conversation.
type Compactor interface {
	// CompactThread starts a compaction and returns the runtime's own answer.
	CompactThread(ctx context.Context, threadID string) (json.RawMessage, error)
}

// TerminalCleaner is a runtime with conversations that can leave programs running after their turns.
type TerminalCleaner interface {
	// CleanTerminals ends these programs and returns the runtime's own answer.
	CleanTerminals(ctx context.Context, threadID string) (json.RawMessage, error)
}

// Reviewer is a runtime that can review changes in a separate turn.
type Reviewer interface {
	// ReviewThread starts a review and returns the runtime's own answer.
	ReviewThread(ctx context.Context, threadID string, review Review) (json.RawMessage, error)
}

// RawCaller is a runtime that forwards raw requests, for routes that are specific to this provider.
type RawCaller interface {
	// Call makes one request in the provider's protocol. It omits nil params.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// FailureReader is a runtime with more details of a turn's failure than the neutral kinds express.
type FailureReader interface {
	// FailureKind returns the Kind of a failed turn. The turn's Error and Kind come from its description
	// (Turn.Native).
	FailureKind(turn Turn) error
}

// Movable is a runtime that keeps a conversation in append-only files. It accepts files that another runtime of its kind
// wrote on another machine.
type Movable interface {
	// SnapshotFiles returns the names of a conversation's files with slashes, relative to a folder that each machine
	// has. It returns none before the runtime wrote a file.
	SnapshotFiles(in ResumeThread) (folder string, names []string, err error)
	// SnapshotWritten reports whether the files have everything that the runtime reported. The runtime may write
	// late.
	SnapshotWritten(ctx context.Context, in ResumeThread) (bool, error)
	// SnapshotPath returns the local path for another machine's file of a conversation in cwd, with slashes, relative
	// to the same folder. It creates the entries the runtime needs to find the file. The conversation then loads from
	// it again.
	SnapshotPath(in ResumeThread, cwd, name string) (string, error)
}

// Names of optional operations, as in UnsupportedError.Operation.
const (
	OpSteer     = "steer"
	OpHistory   = "history"
	OpArchive   = "names and archives"
	OpRevert    = "rollback"
	OpFork      = "fork"
	OpCompact   = "compact"
	OpTerminals = "background terminals"
	OpReview    = "review"
	OpImages    = "images"
	OpTools     = "client tools"
	OpMove      = "continue at another node"
	OpLogin     = "login"
	OpKey       = "login with a key"
)

// UnsupportedError means that a runtime does not support an operation. It matches ErrUnsupported.
type UnsupportedError struct {
	Runtime, Operation string
	// Remedy is the alternative to use instead, "" when unknown.
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

// OperationFilter is an adapter for several agents. The running agent may lack an operation that the adapter
// implements.
type OperationFilter interface {
	// Offers reports whether an operation (OpSteer, ...) works with the agent of this adapter.
	Offers(operation string) bool
}

// Has returns an adapter's implementation of an operation, and whether there is one.
func Has[T any](adapter Adapter, operation string) (T, bool) {
	part, ok := adapter.(T)
	if selective, is := adapter.(OperationFilter); ok && is && !selective.Offers(operation) {
		var none T
		return none, false
	}
	return part, ok
}

// As is like Has, but returns a *UnsupportedError when there is no implementation.
func As[T any](adapter Adapter, operation string) (T, error) {
	part, ok := Has[T](adapter, operation)
	if !ok {
		return part, &UnsupportedError{Runtime: adapter.Name(), Operation: operation}
	}
	return part, nil
}
