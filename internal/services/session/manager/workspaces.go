package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/store"
	"harness/internal/services/session/takeover"
	"harness/internal/services/session/workspace"
	"harness/transcript"
)

// Trees stores the states of sessions' folders before and after turns. Its failures do not affect turns.
type Trees interface {
	// Begin stores the state of a folder before a turn, within a bounded time. The caller then calls named with the id
	// of the turn, "" if no turn began.
	Begin(ctx context.Context, sessionID, folder string) (named func(turnID string))
	// Ended stores the state after a turn in the background.
	Ended(sessionID, turnID string)
	// Wrote reports that a running turn may have changed files.
	Wrote(sessionID, turnID string)
	// Forget removes the states of a deleted session in the background.
	Forget(sessionID, folder string)
}

// Folders stores the folders of sessions for other nodes.
type Folders interface {
	// Store stores a folder under a name, replacing an earlier copy, and returns the id of the snapshot. refusal is
	// why the folder cannot be stored, "" if it was.
	Store(ctx context.Context, name, folder string) (snapshot, refusal string, err error)
	// Restore restores a folder from a snapshot. It moves an existing folder aside, and returns its new name as aside.
	Restore(ctx context.Context, name, snapshot, folder string) (aside string, err error)
	// Forget removes all folders stored under names with a prefix.
	Forget(ctx context.Context, prefix string) error
}

const (
	// folderAgain is the pause after a failure.
	folderAgain = 5 * time.Second
	// unstoredFor limits the age (ms) of turns whose folder this server stores when it starts.
	unstoredFor = 24 * 3600 * 1000
)

// workspaceName is the name of a session's stored folder. It contains the owner: a former owner uses another name.
func workspaceName(session session.Session) string {
	return session.ID + "/" + strconv.FormatInt(session.Epoch, 10)
}

// FolderKeeper stores the folders of sessions for other nodes, and restores them.
type FolderKeeper struct {
	db          *database.DB
	journal     *journal.Journal
	options     NodeOptions
	root        string
	reader      *reading.Reader
	checker     *workspace.Checker
	ended       *takeover.EndedTurns
	lookup      func(ctx context.Context, sessionID string) (session.Session, error)
	owns        func(one session.Session) bool
	checkLease  func() error
	commitOwned func(ctx context.Context, sess session.Session, st func(context.Context, database.Tx) error) error
	upsertIn    func(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) ([]journal.Event, error)
	log         zerolog.Logger
	now         func() int64 // ms
}

// workspaceLoop stores the folders of this node's sessions after their turns, and removes unneeded ones, until ctx
// ends.
func (f *FolderKeeper) workspaceLoop(ctx context.Context) {
	if f.options.Folders == nil {
		return
	}
	begun := false
	for {
		err := f.deleteUnneededWorkspaces(ctx)
		if err == nil && !begun {
			err = store.UnstoredWorkspaces(ctx, f.db.Read(), f.options.NodeID, f.now()-unstoredFor, f.ended.Want)
			begun = err == nil
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn().Err(err).Msg("cannot list session folders to store or remove; retrying")
		}
		again := err != nil
		for id, turn := range f.ended.Take() {
			if err := f.snapshotWorkspace(ctx, id, turn); err != nil && ctx.Err() == nil {
				again = true
				f.ended.WantAgain(id, turn)
				f.log.Warn().Err(err).Str("session", id).
					Msg("session folder not stored; retrying. Until then the session cannot move to another node")
			}
		}
		wake, retry := f.ended.Wake, (<-chan time.Time)(nil)
		if again {
			wake, retry = nil, time.After(folderAgain)
		}
		select {
		case <-wake:
		case <-retry:
		case <-ctx.Done():
			return
		}
	}
}

// snapshotWorkspace stores the folder of a session of this node after a turn.
func (f *FolderKeeper) snapshotWorkspace(ctx context.Context, sessionID, turnID string) error {
	sess, err := f.reader.Stored(ctx, sessionID)
	if session.Absent(err) || err == nil && !f.owns(sess) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.checkLease(); err != nil {
		return err // another node may have taken over the session and its folder
	}
	row := store.Workspace{Name: workspaceName(sess), TurnID: turnID, StoredAt: f.now()}
	folder := cmp.Or(sess.Cwd, f.root)
	if row.Snapshot, row.Refusal, err = f.options.Folders.Store(ctx, row.Name, folder); err != nil {
		return err
	}
	if row.Refusal != "" {
		f.log.Warn().Str("session", sessionID).Str("reason", row.Refusal).
			Msg("session folder cannot be stored; the session cannot move to another node")
	}
	if row.Mark, err = workspace.EnsureMarker(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return f.commitOwned(ctx, sess, func(ctx context.Context, tx database.Tx) error {
		return errors.Join(store.WriteWorkspace(ctx, tx, sessionID, row), store.KeepWorkspace(ctx, tx, f.options.NodeID, sess.Cwd))
	})
}

// deleteUnneededWorkspaces removes the stored folders of deleted sessions.
func (f *FolderKeeper) deleteUnneededWorkspaces(ctx context.Context) error {
	gone, err := database.ReadTexts(ctx, f.db.Read(), "find the unneeded folders", `select session_id from unneeded_folders`)
	if err != nil {
		return err
	}
	for _, id := range gone {
		if err := f.options.Folders.Forget(ctx, id+"/"); err != nil {
			return err
		}
		if err := f.journal.Do(ctx, store.WorkspaceDeleted(id)); err != nil {
			return err
		}
	}
	return nil
}

// restoreWorkspace restores the folder of a session before its takeover, and returns the node that had it. It returns
// "" if the folder is already here, with another session that was taken over. It returns *PinnedError if the folder is
// unavailable, and *NotOwnerError if another node has it by now.
func (f *FolderKeeper) restoreWorkspace(ctx context.Context, sess session.Session) (from string, err error) {
	pinned := func(reason string) error {
		return &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: false, Reason: reason}
	}
	folder := sess.Cwd
	if folder == "" {
		return "", pinned("it has no folder of its own")
	}
	at, err := store.WorkspaceMovedTo(ctx, f.db.Read(), sess.NodeID, folder)
	if err != nil {
		return "", err
	}
	if at == f.options.NodeID {
		return "", nil
	}
	if at != "" {
		lapsed, err := f.options.Lapsed(ctx, f.db.Read(), at)
		if err == nil && !lapsed {
			err = &session.NotOwnerError{SessionID: sess.ID, Owner: at, Node: f.options.NodeID, Folder: folder}
		}
		if err != nil {
			return "", err
		}
	}
	from = cmp.Or(at, sess.NodeID)
	stored, missing, err := store.LastWorkspace(ctx, f.db.Read(), from, folder)
	if err != nil {
		return "", err
	}
	if missing != "" {
		return "", pinned(missing)
	}
	if err := f.clearFor(ctx, sess, stored); err != nil {
		return "", err
	}
	aside, err := f.options.Folders.Restore(ctx, stored.Name, stored.Snapshot, folder)
	if err != nil {
		return "", runtime.WithKind(runtime.ErrUnavailable, fmt.Errorf("the folder %s cannot be made here now: %w", folder, err))
	}
	if aside != "" {
		f.log.Info().Str("folder", folder).Str("aside", aside).
			Msg("session folder changed at another node; the local copy was moved aside")
	}
	return from, workspace.ReplaceMarker(folder, stored.Mark)
}

// clearFor reports whether the folder of a session may be restored here: the path is free, or has an old unused copy.
// Otherwise it returns *PinnedError.
func (f *FolderKeeper) clearFor(ctx context.Context, sess session.Session, stored store.Workspace) error {
	pinned := func(reason string) error {
		return &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: false, Reason: reason}
	}
	there, err := os.ReadDir(sess.Cwd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return pinned("its folder " + sess.Cwd + " cannot be made here: " + err.Error())
	}
	if len(there) == 0 {
		return nil
	}
	users, err := store.SessionsIn(ctx, f.db.Read(), f.options.NodeID, sess.Cwd, sess.ID)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return pinned("other sessions of this node work in " + sess.Cwd + ", which is not as it was left at node " + sess.NodeID)
	}
	found, err := workspace.ReadMarker(sess.Cwd)
	if err != nil {
		return err
	}
	if found == "" || found != stored.Mark {
		return pinned("there is another folder at " + sess.Cwd + " here")
	}
	return nil
}

// typeFolderRestored is the type of the entry that says what a folder lacks. folderPrefix starts its id; the turn's id
// follows.
const (
	typeFolderRestored = "folder.restored"
	folderPrefix       = "folder-"
)

// workspaceMoved records that a node's folder moved here. The transcript of the session gets an entry about the lost
// part of a cut-off turn.
func (f *FolderKeeper) workspaceMoved(ctx context.Context, tx database.Tx, session session.Session, from string) ([]journal.Event, error) {
	at := f.now()
	if err := store.MoveWorkspace(ctx, tx, from, session.Cwd, f.options.NodeID, at); err != nil {
		return nil, err
	}
	cut, err := store.LastCutTurn(ctx, tx, session.ID)
	if err != nil || cut == "" {
		return nil, err
	}
	return f.upsertIn(ctx, tx, session.ID, transcript.Entry{MessageID: folderPrefix + cut, TurnID: cut, Role: "system",
		Type: typeFolderRestored, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete,
		Content: "The session goes on at another node, with its folder as the last turn before this one left it. What this turn " +
			"changed there is in " + session.Cwd + " at node " + from + " only."})
}

// CheckWorkspace refuses an operation on a session's folder if no agent can work there: *FolderError. Other errors are
// those of Lookup.
func (f *FolderKeeper) CheckWorkspace(ctx context.Context, sessionID string) error {
	session, err := f.lookup(ctx, sessionID)
	if err == nil {
		_, err = f.checker.Workspace(session)
	}
	return err
}
