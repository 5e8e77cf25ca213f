package api

import (
	"context"
	"encoding/json"

	"harness/runtime"
	"harness/session"
	"harness/transcript"
)

// Sessions is what the REST routes need of the session room. *session.Service implements it.
type Sessions interface {
	Chats

	// Lookup finds a session in the stored rows, adopting one the runtime knows and we do not. It returns *session.DeletedError for a
	// deleted one and session.ErrNotFound for an unknown one. Rows are read first: a known session costs no runtime call.
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	// Forked takes in a session that its runtime has just made of another one.
	Forked(ctx context.Context, sourceID, sessionID string) (session.Session, error)
	// CheckOwner refuses with *session.NotOwnerError what needs the runtime of a session that is another node's.
	CheckOwner(session session.Session) error
	Create(ctx context.Context, in session.Create) (session.Session, error)
	List(ctx context.Context, query session.ListQuery) (session.Page, error)
	// Read reads the session, its native thread (with turns) and the assembled transcript, or a window of it (without turns).
	Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error)
	Rename(ctx context.Context, sessionID, title string) (session.Session, error)
	Archive(ctx context.Context, sessionID string) (session.Session, error)
	Unarchive(ctx context.Context, sessionID string) (session.Session, error)
	// Resume loads the session in its runtime and tells it of these tools of the client.
	Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error)
	Delete(ctx context.Context, sessionID string) (session.Deleted, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)

	// Send starts a turn with a message, or steers it into the running one, and returns the turn's id.
	Send(ctx context.Context, sessionID string, message session.Message) (turnID string, err error)
	// Interrupt ends the running turn; turnID "" means whichever runs. ErrNoActiveTurn, ErrWrongTurn.
	Interrupt(ctx context.Context, sessionID, turnID string) (interrupted string, err error)

	// RollBack takes back the last turns and returns the runtime's answer; *runtime.TooFewTurnsError.
	RollBack(ctx context.Context, sessionID string, numTurns int) (json.RawMessage, error)

	// UpsertTranscripts stores the entries, all or none, and announces each as it is, which is also returned as JSON. The session must exist
	// (Lookup).
	UpsertTranscripts(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error)

	// Requests lists the pending interactive requests of a session, oldest first. An unknown session has none.
	Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error)
	// Settle decides a pending request exactly once: ErrRequestNotFound, or *session.SettledError naming how it was settled before.
	Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply, decidedBy string) (session.Request, error)

	// SessionOfRequest is the session an interactive request belongs to, whatever became of it. ErrRequestNotFound.
	SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string, err error)

	// ProjectsAt lists all projects, and tells the cursor of the event stream at which the list is true.
	ProjectsAt(ctx context.Context) (projects []session.Project, pos int64, err error)
	CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error)
	// RenameProject changes name and, when setDirectory, the working directory (nil clears it).
	RenameProject(ctx context.Context, projectID, name string, workingDirectory *string, setDirectory bool) (session.Project, error)
	DeleteProject(ctx context.Context, projectID string) (session.Project, error)
}
