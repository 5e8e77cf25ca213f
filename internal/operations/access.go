package operations

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Lookups has the parts of sessions that the checks need.
type Lookups interface {
	// Lookup finds a session in the stored rows, adopting one that only the runtime knows. It returns
	// *session.DeletedError for a deleted one and session.ErrNotFound for an unknown one. Rows are read first, so
	// that a known session costs no runtime call.
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	// Own returns *session.NotOwnerError if another live node owns the session. If that node is down, this one takes
	// over the session; *session.PinnedError if it cannot.
	Own(ctx context.Context, session session.Session) error
	// SessionOfRequest returns the session of an interactive request, whatever its state. ErrRequestNotFound.
	SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string, err error)
	// ProjectsOf returns the projects of stored sessions, by session. It omits sessions without a project.
	ProjectsOf(ctx context.Context, sessionIDs ...string) (map[string]string, error)
}

// Access checks whether a client may perform an operation, and enforces the caller's limits.
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
	StoreUpload    Operation = "store upload"
	Fork           Operation = "fork"
	Compact        Operation = "compact"
	CleanTerminals Operation = "clean terminals"
	ReadBackground Operation = "read background work"
	EndBackground  Operation = "end background work"
	ReadChanges    Operation = "read changes"
	ReadFiles      Operation = "read files"
	RollBack       Operation = "roll back"
	Rewind         Operation = "rewind"
	Review         Operation = "review"
	Upsert         Operation = "upsert"
	ListRequests   Operation = "list requests"
	ReadControls   Operation = "read controls"
	EditControls   Operation = "edit controls"
	Suggest        Operation = "suggest"
	StoreSuggested Operation = "store suggestion"
)

// rules are the conditions that a session must meet for an operation, besides that it is not deleted.
type rules uint8

const (
	notSystem rules = 1 << iota // *SystemSessionError
	known                       // session.ErrNotFound
	owned                       // *session.NotOwnerError: it needs the session's runtime
	enabled                     // *DisabledRuntimeError: its runtime starts something new

	userSession  = notSystem | known
	ownedSession = userSession | owned
)

// rulesOf returns the rules of an operation. Workers write transcripts of their system-owned sessions. Lists of
// unknown sessions are empty. Operations on a conversation go to the runtime even if the session is not stored here,
// and its response is returned.
func rulesOf(op Operation) rules {
	switch op {
	case Read, Upsert:
		return known
	case ReadControls, EditControls, StoreSuggested, StoreUpload:
		return userSession
	case Rename, Archive, Unarchive, Delete, ReadSources, Suggest, ReadBackground, EndBackground,
		ReadChanges, ReadFiles, RollBack, Rewind:
		return ownedSession
	case Resume, Send, Retry:
		return ownedSession | enabled
	case Interrupt, CleanTerminals:
		return notSystem | owned
	case Steer, Fork, Compact, Review:
		return notSystem | owned | enabled
	case AssignProject, ListRequests: // the project is looked up before the session
		return notSystem
	}
	return ownedSession | enabled // an operation without a rule has the strictest one
}

// SystemSessionError refuses a session of the server's own workers.
type SystemSessionError struct{ SessionID string }

// Error implements error.
func (e *SystemSessionError) Error() string {
	return fmt.Sprintf("session %s is reserved for workers of the server", e.SessionID)
}

// Check returns an error if an operation may not be done on a session: *session.DeletedError, *SystemSessionError,
// session.ErrNotFound, *session.NotOwnerError or *DisabledRuntimeError. Every operation calls it. A caller that finds a
// problem with a request calls it before it reports that, so that problems with the session come first.
func (s *Access) Check(ctx context.Context, op Operation, sessionID string) error {
	_, _, err := s.find(ctx, op, sessionID)
	return err
}

// find looks up a session for an operation; false if the session is unknown and the operation allows that.
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
			found, err = s.lookups.Lookup(ctx, sessionID) // this node may have taken it over
		}
	}
	if err == nil && must&enabled != 0 {
		err = s.CheckEnabled(found.Runtime)
	}
	return found, true, err
}

// CheckEnabled refuses a runtime that the operator disabled: *DisabledRuntimeError.
func (s *Access) CheckEnabled(name string) error {
	if s.statuses[name] == RuntimeDisabled {
		return &DisabledRuntimeError{Runtime: name}
	}
	return nil
}
