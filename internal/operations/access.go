package operations

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Lookups is what the checks need of sessions.
type Lookups interface {
	// Lookup finds a session in the stored rows, adopting one the runtime knows and we do not. It returns
	// *session.DeletedError for a deleted one and session.ErrNotFound for an unknown one. Rows are read first: a known
	// session costs no runtime call.
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	// Own refuses with *session.NotOwnerError what needs the runtime of a session that is another node's, unless that is not
	// alive, and the session was taken; *session.PinnedError when it cannot be.
	Own(ctx context.Context, session session.Session) error
	// SessionOfRequest is the session an interactive request belongs to, whatever became of it. ErrRequestNotFound.
	SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string, err error)
	// ProjectsOf are the projects of stored sessions, by session, without those that are in none.
	ProjectsOf(ctx context.Context, sessionIDs ...string) (map[string]string, error)
}

// Access checks whether an operation may be done, and what the caller is limited to.
type Access struct {
	lookups  Lookups
	jobs     Jobs
	statuses map[string]RuntimeStatus
}

// Operation names an operation on a session, for Check.
type Operation string

// The operations on one session.
const (
	Read           Operation = "read"
	Rename         Operation = "rename"
	Archive        Operation = "archive"
	Unarchive      Operation = "unarchive"
	Resume         Operation = "resume"
	Delete         Operation = "delete"
	AssignProject  Operation = "assign project"
	Send           Operation = "send"
	Interrupt      Operation = "interrupt"
	Retry          Operation = "retry"
	ReadSources    Operation = "read sources"
	Steer          Operation = "steer"
	Fork           Operation = "fork"
	Compact        Operation = "compact"
	CleanTerminals Operation = "clean terminals"
	ReadBackground Operation = "read background work"
	EndBackground  Operation = "end background work"
	RollBack       Operation = "roll back"
	Review         Operation = "review"
	Upsert         Operation = "upsert"
	ListRequests   Operation = "list requests"
	ReadControls   Operation = "read controls"
	EditControls   Operation = "edit controls"
	Suggest        Operation = "suggest"
	StoreSuggested Operation = "store suggestion"
)

// rules are what must be true of a session, beside that it was not deleted.
type rules uint8

const (
	notSystem rules = 1 << iota // *SystemSessionError
	known                       // session.ErrNotFound
	owned                       // *session.NotOwnerError: it needs the session's runtime
	enabled                     // *DisabledRuntimeError: its runtime does something new

	userSession  = notSystem | known
	ownedSession = userSession | owned
)

// rulesOf are the rules of an operation. Workers write transcripts of their own system-owned sessions; lists of unknown
// sessions are empty; what a runtime does to a conversation it is asked for even when the session is not stored here,
// and its words are the answer.
func rulesOf(op Operation) rules {
	switch op {
	case Read, Upsert:
		return known
	case ReadControls, EditControls, StoreSuggested:
		return userSession
	case Rename, Archive, Unarchive, Delete, ReadSources, Suggest, ReadBackground, EndBackground,
		RollBack:
		return ownedSession
	case Resume, Send, Retry:
		return ownedSession | enabled
	case Interrupt, CleanTerminals:
		return notSystem | owned
	case Steer, Fork, Compact, Review:
		return notSystem | owned | enabled
	case AssignProject, ListRequests: // the project is looked for before the session
		return notSystem
	}
	return ownedSession | enabled // what nobody thought of is not for everybody
}

// SystemSessionError refuses a session that belongs to the server's own workers.
type SystemSessionError struct{ SessionID string }

// Error implements error.
func (e *SystemSessionError) Error() string {
	return fmt.Sprintf("session %s is reserved for workers of the server", e.SessionID)
}

// Check tells whether an operation may be done on a session: *session.DeletedError, *SystemSessionError,
// session.ErrNotFound or *session.NotOwnerError or *DisabledRuntimeError when it may not. Every operation checks this
// itself; who has found something wrong with a request asks first, so that what is wrong with the session is told
// before.
func (s *Access) Check(ctx context.Context, op Operation, sessionID string) error {
	_, _, err := s.find(ctx, op, sessionID)
	return err
}

// find looks a session up for an operation; false when it is unknown and need not be known.
func (s *Access) find(ctx context.Context, op Operation, sessionID string) (session.Session, bool, error) {
	if err := s.CheckSession(ctx, sessionID); err != nil {
		return session.Session{}, false, err
	}
	must := rulesOf(op)
	found, err := s.lookups.Lookup(ctx, sessionID)
	switch {
	case errors.Is(err, session.ErrNotFound):
		if must&known == 0 {
			err = nil
		}
		return session.Session{}, false, err
	case err != nil:
		return session.Session{}, false, err
	case found.SystemOwned && must&notSystem != 0:
		return session.Session{}, false, &SystemSessionError{SessionID: sessionID}
	case must&owned != 0:
		if err = s.lookups.Own(ctx, found); err == nil {
			found, err = s.lookups.Lookup(ctx, sessionID) // it may have been taken
		}
	}
	if err == nil && must&enabled != 0 {
		err = s.CheckEnabled(found.Runtime)
	}
	return found, true, err
}

// CheckEnabled refuses a runtime that the operator switched off: *DisabledRuntimeError.
func (s *Access) CheckEnabled(name string) error {
	if s.statuses[name] == RuntimeDisabled {
		return &DisabledRuntimeError{Runtime: name}
	}
	return nil
}
