package session

import (
	"errors"
	"fmt"
	"strings"

	"harness/internal/runtime"
)

// UnknownError means that a session is not stored here and that no runtime that answered knows it. It wraps
// ErrNotFound.
type UnknownError struct {
	SessionID string
	// NotAsked lists the runtimes that may own the conversation but could not be asked for it.
	NotAsked []NotAsked
}

// NotAsked is a runtime that could not be asked for a conversation, and the reason.
type NotAsked struct {
	Runtime string        `json:"runtime"`
	State   runtime.State `json:"state"`
	Reason  string        `json:"reason"`
}

// Error implements error.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%v: %s", ErrNotFound, e.SessionID)
	for _, one := range e.NotAsked {
		text += fmt.Sprintf("; the %s runtime was not asked for it: %s", one.Runtime, one.Reason)
	}
	return text
}

// Unwrap returns ErrNotFound.
func (e *UnknownError) Unwrap() error { return ErrNotFound }

// WaitsFor reports whether a runtime is one of those that could not be asked.
func (e *UnknownError) WaitsFor(runtimeName string) bool {
	for _, one := range e.NotAsked {
		if one.Runtime == runtimeName {
			return true
		}
	}
	return false
}

// ErrForeignConversation means that a runtime named a conversation with the id of another runtime's session.
var ErrForeignConversation = errors.New("the conversation's id is that of another runtime's session")

// NotStoppedError means that a turn still runs after a request to end it.
type NotStoppedError struct {
	SessionID, TurnID, Runtime string
	// Others counts the running turns of other sessions in the same process; they prevented ending the process.
	Others int
	// Cause is why the runtime could not end it, nil if it gave no reason.
	Cause error
}

// Error implements error.
func (e *NotStoppedError) Error() string {
	text := fmt.Sprintf("turn %s of session %s was asked to end and still runs", e.TurnID, e.SessionID)
	if e.Cause != nil {
		text += " (" + e.Cause.Error() + ")"
	}
	if e.Others > 0 {
		return fmt.Sprintf("%s; the %s process also runs %d turns of other sessions, so it was not ended: stop those, then stop this "+
			"turn again", text, e.Runtime, e.Others)
	}
	return text + "; stop it again, or restart the server"
}

// Unwrap makes errors.Is match runtime.ErrTurnActive.
func (e *NotStoppedError) Unwrap() error { return runtime.ErrTurnActive }

// MovedChats counts the results of MoveChats.
type MovedChats struct{ Moved, Archived, AlreadyArchived int }

// NotMaterializedError names the sessions with nothing to archive: no client has written to them yet.
type NotMaterializedError struct {
	ProjectID  string
	SessionIDs []string
}

// Error implements error.
func (e *NotMaterializedError) Error() string {
	return fmt.Sprintf("%d sessions of project %s have nothing to archive yet", len(e.SessionIDs), e.ProjectID)
}

// ErrNoEntry means that a session's transcript has no such entry.
var ErrNoEntry = errors.New("the transcript has no such entry")

// ToolsError refuses client tools for a session. Runtimes accept them when a conversation begins, and would ignore them
// later.
type ToolsError struct {
	SessionID string
	// Known reports whether the server knows the session's tools. Names lists their names.
	Known bool
	Names []string
}

// Error implements error.
func (e *ToolsError) Error() string {
	const remedy = "Its runtime takes tools only when a session is created: leave the field out to go on with them, " +
		"or create a session with other tools"
	switch {
	case !e.Known:
		return "The tools of this session are not known here. " + remedy
	case len(e.Names) == 0:
		return "This session has no tools. Its runtime takes tools only when a session is created: leave the field out, " +
			"or create a session with these tools"
	}
	return "This session has other tools (" + strings.Join(e.Names, ", ") + "). " + remedy
}

// FolderError refuses a folder that an agent cannot work in. Nothing changed.
type FolderError struct {
	// SessionID is the session that works in the folder, "" for a session that was still being created.
	SessionID string
	Folder    string
	Reason    string
	// Missing means that there is no such folder.
	Missing bool
}

// Error implements error.
func (e *FolderError) Error() string {
	if e.SessionID == "" {
		return fmt.Sprintf("no session can work in the folder %q: %s. Name a folder that exists on the server (cwd): an absolute path, or one "+
			"below the server's workspace", e.Folder, e.Reason)
	}
	return fmt.Sprintf("session %s works in the folder %q: %s. Bring the folder back and send the message again; nothing was sent",
		e.SessionID, e.Folder, e.Reason)
}

// Code returns the machine-readable code of the error.
func (e *FolderError) Code() string {
	if e.SessionID == "" {
		return "invalid_cwd"
	}
	return "workspace_missing"
}

// Absent reports whether an error means that a session is missing, deleted or unknown.
func Absent(err error) bool {
	var gone *DeletedError
	return errors.As(err, &gone) || errors.Is(err, ErrNotFound)
}
