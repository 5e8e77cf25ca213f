package takeover

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

const (
	// PartBytes limits a stored part of a runtime's state.
	PartBytes = 512 << 10
	// snapshotAgain is the pause after a failure.
	snapshotAgain = 2 * time.Second
	// The loop asks a runtime with unwritten output again after writtenAgain, up to writtenLimit. A replay on another
	// node contains output that the runtime never wrote.
	writtenAgain = 50 * time.Millisecond
	writtenLimit = 10 * time.Second
)

// errUnwritten means that a runtime has not written its output yet.
var errUnwritten = errors.New("the runtime has not written down what it said")

// errAnotherFile means that a file was replaced.
var errAnotherFile = errors.New("it is another file than before")

// memoryFiles lists the files with a runtime's state of a session, for an epoch and a native id.
type memoryFiles struct {
	epoch  int64
	native string
	folder string
	names  []string
}

// Sessions finds sessions and their runtimes.
type Sessions interface {
	Stored(ctx context.Context, sessionID string) (session.Session, error)
	Adapter(name string) (runtime.Adapter, error)
}

// SnapshotOptions configure Snapshots.
type SnapshotOptions struct {
	DB       *database.DB
	Sessions Sessions
	Owner    *Ownership
	// WorkspaceRoot is the workspace of sessions that name none.
	WorkspaceRoot string
	Logger        zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Snapshots stores the runtimes' state of this node's sessions for other nodes.
type Snapshots struct {
	opts  SnapshotOptions
	turns *EndedTurns
}

// NewSnapshots returns Snapshots that store nothing until Run.
func NewSnapshots(opts SnapshotOptions) *Snapshots {
	return &Snapshots{opts: opts, turns: NewEndedTurns()}
}

// Want requests a snapshot of a session, with the turn that ended ("" for none).
func (s *Snapshots) Want(sessionID, endedTurn string) { s.turns.Want(sessionID, endedTurn) }

// Run stores the growing runtime state of this node's sessions until ctx ends.
func (s *Snapshots) Run(ctx context.Context) {
	files := map[string]memoryFiles{} // caches paths: finding them walks a folder of all sessions
	behind := map[string]time.Time{}  // start time of unwritten output
	s.turns.Wake.Loop(ctx, func(ctx context.Context) (again time.Duration) {
		for id, turn := range s.turns.Take() {
			err := s.snapshotSession(ctx, id, turn, files)
			if err == nil || ctx.Err() != nil {
				delete(behind, id)
				continue
			}
			pause := snapshotAgain
			if errors.Is(err, errUnwritten) {
				if _, known := behind[id]; !known {
					behind[id] = time.Now()
				}
				if time.Since(behind[id]) > writtenLimit {
					delete(behind, id)
					s.opts.Logger.Warn().Str("session", id).Str("turn", turn).
						Msg("agent memory not flushed; a takeover would replay the transcript")
					continue
				}
				pause = writtenAgain
			} else {
				s.opts.Logger.Warn().Err(err).Str("session", id).
					Msg("agent memory not stored; retrying. Until then the session cannot move to another node")
			}
			s.turns.WantAgain(id, turn)
			again = min(cmp.Or(again, pause), pause)
		}
		return again
	})
}

// snapshotSession stores the new content of a session's runtime files, and then its progress.
func (s *Snapshots) snapshotSession(ctx context.Context, sessionID, endedTurn string, files map[string]memoryFiles) error {
	sess, err := s.opts.Sessions.Stored(ctx, sessionID)
	if session.Absent(err) || err == nil && !s.opts.Owner.Owns(sess) {
		return nil
	}
	if err != nil {
		return err
	}
	adapter, err := s.opts.Sessions.Adapter(sess.Runtime)
	if err != nil {
		return err
	}
	movable, is := runtime.Has[runtime.Movable](adapter, runtime.OpMove)
	if !is && endedTurn == "" {
		return nil // the folder is marked at the end of a turn
	}
	written := true
	if is && endedTurn != "" {
		if written, err = movable.SnapshotWritten(ctx, sess.Resume()); err != nil {
			return err
		}
	}
	if is {
		stored, err := s.snapshotFiles(ctx, sess, movable, files)
		if err != nil {
			return err
		}
		if stored == 0 && written {
			return nil
		}
	}
	marked, err := workspace.EnsureMarker(cmp.Or(sess.Cwd, s.opts.WorkspaceRoot))
	if err != nil {
		return err
	}
	row := store.Snapshot{TurnID: endedTurn, Workspace: marked, StoredAt: s.opts.Now()}
	if !written {
		row.TurnID = "" // keep the previous turn: if this node dies now, the session gets a replay
	}
	err = s.opts.Owner.CommitOwned(ctx, sess, func(ctx context.Context, tx database.Tx) error {
		return store.WriteSnapshot(ctx, tx, sessionID, row)
	})
	if err == nil && !written {
		return errUnwritten
	}
	return err
}

// snapshotFiles stores the new content of a session's runtime files, and returns the number of files.
func (s *Snapshots) snapshotFiles(ctx context.Context, session session.Session, movable runtime.Movable, files map[string]memoryFiles,
) (stored int, err error) {
	found, known := files[session.ID]
	if !known || found.epoch != session.Epoch || found.native != session.RuntimeSessionID {
		known, found = false, memoryFiles{epoch: session.Epoch, native: session.RuntimeSessionID}
		if found.folder, found.names, err = movable.SnapshotFiles(session.Resume()); err != nil || len(found.names) == 0 {
			return 0, err
		}
		if len(files) >= live.MaxSessions {
			clear(files)
		}
		files[session.ID] = found
	}
	for _, name := range found.names {
		if err := s.snapshotFile(ctx, session, found.folder, name, !known); err != nil {
			delete(files, session.ID)
			if known && (errors.Is(err, errAnotherFile) || errors.Is(err, fs.ErrNotExist)) {
				return s.snapshotFiles(ctx, session, movable, files)
			}
			return 0, err
		}
	}
	if known {
		return len(found.names), nil
	}
	// Earlier files have another name on this node, or belong to a replayed conversation.
	return len(found.names), s.opts.Owner.CommitOwned(ctx, session, func(ctx context.Context, tx database.Tx) error {
		return store.DeleteOtherSnapshotFiles(ctx, tx, session.ID, found.names)
	})
}

// snapshotFile stores the complete lines that were appended to a file. It stores a replaced file from the start if
// mayBeAnew allows it; otherwise it returns errAnotherFile. The former file may have another name by now.
func (s *Snapshots) snapshotFile(ctx context.Context, session session.Session, folder, name string, mayBeAnew bool) (err error) {
	file, err := os.OpenInRoot(folder, filepath.FromSlash(name)) // an agent's symlink must not lead out of it
	if err != nil {
		return fmt.Errorf("read what the runtime remembers: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	last, err := store.LastSnapshotPart(ctx, s.opts.DB.Read(), session.ID, name)
	if err != nil {
		return err
	}
	content := make([]byte, last.Ends-last.Starts)
	n, err := file.ReadAt(content, last.Starts)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read what the runtime remembers: %w", err)
	}
	anew, next := !bytes.Equal(content[:n], last.Content), last.Ends
	switch {
	case anew && !mayBeAnew:
		return errAnotherFile
	case anew:
		next = 0
	}
	for {
		content = make([]byte, PartBytes)
		n, err := file.ReadAt(content, next)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read what the runtime remembers: %w", err)
		}
		if n < PartBytes { // the end of the file, perhaps in the middle of a line
			n = bytes.LastIndexByte(content[:n], '\n') + 1
		}
		if n == 0 && !anew {
			return nil
		}
		part, first := store.SnapshotPart{Name: name, Starts: next, Ends: next + int64(n), Content: content[:n]}, anew
		if err := s.opts.Owner.CommitOwned(ctx, session, func(ctx context.Context, tx database.Tx) error {
			if first {
				if err := store.DeleteSnapshotFile(ctx, tx, session.ID, name); err != nil {
					return err
				}
			}
			if len(part.Content) == 0 {
				return nil
			}
			return store.WriteSnapshotPart(ctx, tx, session.ID, part)
		}); err != nil {
			return err
		}
		if anew, next = false, part.Ends; n < PartBytes {
			return nil
		}
	}
}

// Restore writes the stored state of a session into the files of this node's runtime, replacing old ones.
func (s *Snapshots) Restore(ctx context.Context, movable runtime.Movable, session session.Session) (err error) {
	folder, had, err := movable.SnapshotFiles(session.Resume())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("restore what the runtime remembers: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("restore what the runtime remembers: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range had {
		if err := root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what the runtime remembered before: %w", err)
		}
	}
	cwd, places := cmp.Or(session.Cwd, s.opts.WorkspaceRoot), map[string]string{}
	return store.EachSnapshotPart(ctx, s.opts.DB.Read(), session.ID, func(part store.SnapshotPart) error {
		place, known := places[part.Name]
		if !known {
			if place, err = movable.SnapshotPath(session.Resume(), cwd, part.Name); err != nil {
				return err
			}
			if !slices.Contains(slices.Collect(maps.Values(places)), place) { // otherwise it is one file that had two names
				if err := emptyPlace(root, place); err != nil {
					return err
				}
			}
			places[part.Name] = place
		}
		return writePart(root, place, part)
	})
}

// emptyPlace creates the folder of a file, and removes the file.
func emptyPlace(root *os.Root, place string) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(place)), 0o700); err != nil {
		return err
	}
	if err := root.Remove(filepath.FromSlash(place)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writePart writes a part of a file at its position.
func writePart(root *os.Root, place string, part store.SnapshotPart) error {
	file, err := root.OpenFile(filepath.FromSlash(place), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(part.Content, part.Starts)
	return errors.Join(err, file.Close(), environment.GiveToOwner(root, place))
}
