package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"harness/internal/operations"
	"harness/internal/platform/cluster/gitworkspace"
	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime/process/confine"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/session/rewind"
	"harness/internal/services/tools/workspace"
	"harness/internal/services/workingtree"
	"harness/internal/services/worktree"
	"harness/server/datadir"
	"harness/stream"
)

// startFolders opens the store of session folders for other nodes (HARNESS_WORKSPACES=git). If the store is unusable,
// the server does not start.
func (s *Server) startFolders(ctx context.Context) error {
	if s.node == nil || s.cfg.Workspaces != config.WorkspacesGit || !s.cfg.Runs() {
		return nil
	}
	dir, err := filepath.Abs(filepath.Join(s.dir.Path, "workspaces"))
	if err != nil {
		return err
	}
	options := gitworkspace.Options{Dir: dir, Remote: s.cfg.WorkspaceRemote}
	var agents Confinement
	if err := agents.BecomeUser(s.cfg.RuntimeUser, s.dir.Path); err != nil {
		return err
	}
	if plan := agents.Plan; plan.User {
		options.User = &gitworkspace.User{UID: plan.UID, GID: plan.GID, Groups: plan.Groups}
	}
	folders := gitworkspace.New(options)
	if err := folders.Start(ctx); err != nil {
		return config.Usagef("HARNESS_WORKSPACES=git does not work here: %w", err)
	}
	s.folders = folders
	return nil
}

func (s *Server) stopFolders(ctx context.Context) error {
	if s.folders == nil {
		return nil
	}
	return s.folders.Stop(ctx)
}

// storedFolders is the store of sessions' folders, nil for none.
func (s *Server) storedFolders() manager.Folders {
	if s.folders == nil {
		return nil
	}
	return s.folders
}

// SessionFolder returns the default working folder for sessions created without one.
func SessionFolder(cfg *config.Config, workingDirectory string) string {
	return cmp.Or(cfg.Workspace, workingDirectory)
}

// enterFolder returns the reason why agents cannot enter a folder, nil if they can.
func (s *runtimes) enterFolder(folder string) error {
	plan := s.confined.Load()
	if plan == nil {
		plan = &confine.Plan{}
	}
	return plan.Enter(folder)
}

// browser shows the folders of sessions to people, without the server's own files.
func (s *access) browser() (workspace.Browser, error) {
	paths, err := s.secretFolders()
	if err != nil {
		return workspace.Browser{}, err
	}
	shown := workspace.Browser{Hidden: realPlaces(append(append(paths, s.dir.Path, s.cfg.CredentialDir), s.cfg.Files()...))}
	if home, err := os.UserHomeDir(); err == nil {
		shown.Keep = realPlaces([]string{home})
	}
	if s.cfg.RuntimeUser != "" {
		shown.Refuse = "files are not shown while agents run as another user (HARNESS_RUNTIME_USER): the server may read more than they"
	}
	return shown, nil
}

// realPlaces returns the real paths of files and folders. A missing one keeps its path.
func realPlaces(paths []string) (places []string) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		place, err := datadir.RealPath(path)
		if err != nil {
			place, err = datadir.EntryPlace(path)
		}
		if err != nil {
			place = path
		}
		places = append(places, place)
	}
	return places
}

// folderStates are the states of folders around turns, from which changes are read.
type folderStates struct {
	*core
	service   *workingtree.Service // nil with HARNESS_CHECKPOINTS=off
	worktrees *worktree.Service    // nil where no session runs
}

// Start opens the states of folders.
func (f *folderStates) Start(ctx context.Context) error {
	if !f.cfg.Runs() {
		return nil
	}
	dir, err := filepath.Abs(f.dir.Path)
	if err == nil {
		err = f.startWorktrees(ctx, dir)
	}
	if err != nil || f.cfg.Checkpoints == "off" {
		return err
	}
	options := workingtree.Options{Dir: filepath.Join(dir, "shadows"), Keep: []string{dir}, FolderOf: f.folderOf, Publish: f.publish,
		Logger: f.log.With().Str("package", "workingtree").Logger(), Clock: f.now}
	if home, err := os.UserHomeDir(); err == nil {
		options.Keep = append(options.Keep, home)
	}
	if f.cfg.RuntimeUser != "" {
		options.Refuse = "changes of folders are not read while agents run as another user (HARNESS_RUNTIME_USER)"
	}
	f.service = workingtree.New(options)
	return f.service.Start(ctx)
}

// startWorktrees finishes what a crash left of worktrees. They are beside the data directory, which agents cannot see.
func (f *folderStates) startWorktrees(ctx context.Context, dir string) error {
	options := worktree.Options{Dir: filepath.Join(dir, "worktrees"), Root: dir + "-worktrees", Keep: realPlaces([]string{dir}),
		Logger: f.log.With().Str("package", "worktree").Logger(), Clock: f.now}
	if f.cfg.RuntimeUser != "" {
		options.Refuse = "there are no worktrees while agents run as another user (HARNESS_RUNTIME_USER), who could not write there"
	}
	f.worktrees = worktree.New(options)
	return f.worktrees.Start(ctx)
}

// Stop ends running captures.
func (f *folderStates) Stop(ctx context.Context) (err error) {
	if f.worktrees != nil {
		err = f.worktrees.Stop(ctx)
	}
	if f.service != nil {
		err = errors.Join(err, f.service.Stop(ctx))
	}
	return err
}

// trees are the parts of operations that read folders.
func (f *folderStates) trees() operations.WorkingTrees {
	trees := operations.WorkingTrees{Changes: f.changes(), Rewinds: f.sessions.Rewinds}
	if f.worktrees != nil {
		trees.Worktrees = f.worktrees
	}
	return trees
}

// folderOf returns the folder of a session, "" for none.
func (f *folderStates) folderOf(ctx context.Context, sessionID string) (string, error) {
	found, err := f.sessions.Reader.Stored(ctx, sessionID)
	if session.Absent(err) || found.SystemOwned {
		return "", nil
	}
	return found.Cwd, err
}

// publish notifies the console of a session's changes.
func (f *folderStates) publish(ctx context.Context, update workingtree.Update) error {
	payload, err := json.Marshal(update)
	if err != nil {
		return err
	}
	return f.journal.Do(ctx, func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{session.NewEvent(update.SessionID, stream.ConsoleEvents+"session_changes_updated", f.now().UnixMilli(),
			false, payload)}, nil
	})
}

// turns stores the states of folders around turns, nil if they are not stored.
func (f *folderStates) turns() manager.Trees {
	if f.service == nil {
		return nil
	}
	return f.service
}

// rewinds restores the states of folders, nil if they are not stored.
func (f *folderStates) rewinds() rewind.Trees {
	if f.service == nil {
		return nil
	}
	return f.service
}

// changes compares folders with their earlier states, nil if they are not stored.
func (f *folderStates) changes() operations.ChangeStore {
	if f.service == nil {
		return nil
	}
	return f.service
}
