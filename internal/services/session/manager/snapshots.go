package manager

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
	"sync"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

const (
	// memoryPartBytes bounds a stored piece of a runtime's memory.
	memoryPartBytes = 512 << 10
	// custodyAgain is how long to wait after a failure.
	custodyAgain = 2 * time.Second
	// A runtime that has not written down yet what it said is asked again after writtenAgain, but not for longer than
	// writtenLimit: what it keeps to itself, it is told again elsewhere.
	writtenAgain = 50 * time.Millisecond
	writtenLimit = 10 * time.Second
)

// errUnwritten says that a runtime has not written down yet what it said.
var errUnwritten = errors.New("the runtime has not written down what it said")

// errAnotherFile says that a file is not what it was.
var errAnotherFile = errors.New("it is another file than before")

// endedTurns is a list of sessions of which something is to be stored, each with the turn that ended last ("" for none).
type endedTurns struct {
	mu   sync.Mutex
	due  map[string]string
	wake chan struct{}
}

// memoryFiles are those in which a runtime remembers a session, of an epoch and an id of the runtime's own.
type memoryFiles struct {
	epoch  int64
	native string
	folder string
	names  []string
}

func newEndedTurns() *endedTurns {
	return &endedTurns{due: map[string]string{}, wake: make(chan struct{}, 1)}
}

// want has something of a session stored.
func (e *endedTurns) want(sessionID, endedTurn string) {
	e.mu.Lock()
	e.due[sessionID] = cmp.Or(endedTurn, e.due[sessionID])
	e.mu.Unlock()
	e.signal()
}

// wantAgain puts back what could not be stored, unless there is something newer, and wakes nobody.
func (e *endedTurns) wantAgain(sessionID, endedTurn string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.due[sessionID] = cmp.Or(e.due[sessionID], endedTurn)
}

// signal has whoever stores look.
func (e *endedTurns) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *endedTurns) take() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := e.due
	e.due = map[string]string{}
	return due
}

// toStore has stored what a signal of a runtime has grown or changed: its memory, and at the end of a turn the folder.
func (s *Service) toStore(signal runtime.Signal) {
	switch change := signal.Change.(type) {
	case runtime.TurnCompleted:
		s.snapshots.want(signal.ThreadID, change.TurnID)
		if s.opts.Folders != nil {
			s.workspaces.want(signal.ThreadID, change.TurnID)
		}
	case runtime.ItemChanged:
		if change.Done {
			s.snapshots.want(signal.ThreadID, "")
		}
	}
}

// snapshotLoop stores what runtimes remember of this node's sessions, as it grows, until ctx ends.
func (s *Service) snapshotLoop(ctx context.Context) {
	var again <-chan time.Time
	files := map[string]memoryFiles{} // where they were found: to look for them is a walk through a folder of all sessions
	behind := map[string]time.Time{}  // since when a runtime has not written down what it said
	for {
		select {
		case <-s.snapshots.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		var wait time.Duration
		for id, turn := range s.snapshots.take() {
			err := s.snapshotSession(ctx, id, turn, files)
			if err == nil || ctx.Err() != nil {
				delete(behind, id)
				continue
			}
			pause := custodyAgain
			if errors.Is(err, errUnwritten) {
				if _, known := behind[id]; !known {
					behind[id] = time.Now()
				}
				if time.Since(behind[id]) > writtenLimit {
					delete(behind, id)
					s.opts.Logger.Warn().Str("session", id).Str("turn", turn).
						Msg("the runtime has not written down what it said; another node would tell it the conversation again")
					continue
				}
				pause = writtenAgain
			} else {
				s.opts.Logger.Warn().Err(err).Str("session", id).
					Msg("what the runtime remembers of a session could not be stored; trying again. Until then it stays at this node")
			}
			s.snapshots.wantAgain(id, turn)
			wait = min(cmp.Or(wait, pause), pause)
			again = time.After(wait)
		}
	}
}

// snapshotSession stores what the files of a session's runtime have more than is stored, and at last how far that is.
func (s *Service) snapshotSession(ctx context.Context, sessionID, endedTurn string, files map[string]memoryFiles) error {
	sess, err := s.Stored(ctx, sessionID)
	if session.Absent(err) || err == nil && !s.Owns(sess) {
		return nil
	}
	if err != nil {
		return err
	}
	adapter, err := s.Adapter(sess.Runtime)
	if err != nil {
		return err
	}
	portable, is := runtime.Has[runtime.Movable](adapter, runtime.OpMove)
	if !is && endedTurn == "" {
		return nil // its folder is marked with the end of a turn
	}
	written := true
	if is && endedTurn != "" {
		if written, err = portable.SnapshotWritten(ctx, sess.Resume()); err != nil {
			return err
		}
	}
	if is {
		stored, err := s.snapshotFiles(ctx, sess, portable, files)
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
	row := store.Snapshot{TurnID: endedTurn, Workspace: marked, StoredAt: s.now()}
	if !written {
		row.TurnID = "" // the one before stays: should this node die now, the session is told again
	}
	err = s.commitOwned(ctx, sess, func(ctx context.Context, tx database.Tx) error {
		return store.WriteSnapshot(ctx, tx, sessionID, row)
	})
	if err == nil && !written {
		return errUnwritten
	}
	return err
}

// snapshotFiles stores what the files of a session's runtime have more than is stored, and returns how many there are.
func (s *Service) snapshotFiles(ctx context.Context, session session.Session, portable runtime.Movable, files map[string]memoryFiles,
) (stored int, err error) {
	found, known := files[session.ID]
	if !known || found.epoch != session.Epoch || found.native != session.RuntimeSessionID {
		known, found = false, memoryFiles{epoch: session.Epoch, native: session.RuntimeSessionID}
		if found.folder, found.names, err = portable.SnapshotFiles(session.Resume()); err != nil || len(found.names) == 0 {
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
				return s.snapshotFiles(ctx, session, portable, files)
			}
			return 0, err
		}
	}
	if known {
		return len(found.names), nil
	}
	// Those of before have another name here, or are of a conversation that was told anew.
	return len(found.names), s.commitOwned(ctx, session, func(ctx context.Context, tx database.Tx) error {
		return store.DeleteOtherSnapshotFiles(ctx, tx, session.ID, found.names)
	})
}

// commitOwned stores something of a session's runtime, unless another node has taken the session.
func (s *Service) commitOwned(ctx context.Context, sess session.Session, st func(context.Context, database.Tx) error) error {
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := store.IsSystemOwned(ctx, tx, sess.ID); session.Absent(err) {
			return nil, nil
		}
		mine, err := s.mine(ctx, tx, sess.ID, sess.Epoch)
		if err != nil || !mine {
			return nil, err
		}
		return nil, st(ctx, tx)
	})
}

// snapshotFile stores the whole lines by which a file has grown. One that is not as it was is stored anew; errAnotherFile
// unless mayBeAnew says that it may be: the one that was there may have another name by now.
func (s *Service) snapshotFile(ctx context.Context, session session.Session, folder, name string, mayBeAnew bool) (err error) {
	file, err := os.OpenInRoot(folder, filepath.FromSlash(name)) // what an agent put there must not lead out of it
	if err != nil {
		return fmt.Errorf("read what the runtime remembers: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	last, err := store.LastSnapshotPart(ctx, s.db.Read(), session.ID, name)
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
		content = make([]byte, memoryPartBytes)
		n, err := file.ReadAt(content, next)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read what the runtime remembers: %w", err)
		}
		if n < memoryPartBytes { // it is the end, and the runtime may be in the middle of a line
			n = bytes.LastIndexByte(content[:n], '\n') + 1
		}
		if n == 0 && !anew {
			return nil
		}
		part, first := store.SnapshotPart{Name: name, Starts: next, Ends: next + int64(n), Content: content[:n]}, anew
		if err := s.commitOwned(ctx, session, func(ctx context.Context, tx database.Tx) error {
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
		if anew, next = false, part.Ends; n < memoryPartBytes {
			return nil
		}
	}
}

// restoreSnapshot writes what is stored of a session into the files of this node's runtime, in place of what it had.
func (s *Service) restoreSnapshot(ctx context.Context, portable runtime.Movable, session session.Session) (err error) {
	folder, had, err := portable.SnapshotFiles(session.Resume())
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
	return store.EachSnapshotPart(ctx, s.db.Read(), session.ID, func(part store.SnapshotPart) error {
		place, known := places[part.Name]
		if !known {
			if place, err = portable.SnapshotPath(session.Resume(), cwd, part.Name); err != nil {
				return err
			}
			if !slices.Contains(slices.Collect(maps.Values(places)), place) { // else it is one file that had two names
				if err := emptyPlace(root, place); err != nil {
					return err
				}
			}
			places[part.Name] = place
		}
		return writePart(root, place, part)
	})
}

// emptyPlace makes the folder of a file, which is not there afterwards.
func emptyPlace(root *os.Root, place string) error {
	if err := root.MkdirAll(filepath.FromSlash(path.Dir(place)), 0o700); err != nil {
		return err
	}
	if err := root.Remove(filepath.FromSlash(place)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writePart writes a piece of a file where it belongs.
func writePart(root *os.Root, place string, part store.SnapshotPart) error {
	file, err := root.OpenFile(filepath.FromSlash(place), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(part.Content, part.Starts)
	return errors.Join(err, file.Close(), environment.GiveToOwner(root, place))
}
