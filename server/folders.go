package server

import (
	"cmp"
	"context"
	"path/filepath"

	"harness/internal/platform/cluster/gitworkspace"
	"harness/internal/platform/config"
	"harness/internal/runtime/process/confine"
	"harness/internal/services/session/manager"
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
