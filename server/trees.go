package server

import (
	"context"
	"os"
	"path/filepath"

	"harness/internal/operations"
	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/internal/services/workingtree"
)

// startTrees opens the states of folders.
func (s *Server) startTrees(ctx context.Context) error {
	if s.cfg.Checkpoints == "off" || !s.cfg.Runs() {
		return nil
	}
	dir, err := filepath.Abs(s.dir.Path)
	if err != nil {
		return err
	}
	options := workingtree.Options{Dir: filepath.Join(dir, "shadows"), Keep: []string{dir}, FolderOf: s.folderOf,
		Logger: s.log.With().Str("package", "workingtree").Logger(), Clock: s.now}
	if home, err := os.UserHomeDir(); err == nil {
		options.Keep = append(options.Keep, home)
	}
	if s.cfg.RuntimeUser != "" {
		options.Refuse = "changes of folders are not read while agents run as another user (HARNESS_RUNTIME_USER)"
	}
	s.trees = workingtree.New(options)
	return s.trees.Start(ctx)
}

func (s *Server) stopTrees(ctx context.Context) error {
	if s.trees == nil {
		return nil
	}
	return s.trees.Stop(ctx)
}

// folderOf returns the folder of a session, "" for none.
func (s *Server) folderOf(ctx context.Context, sessionID string) (string, error) {
	found, err := s.sessions.Reader.Stored(ctx, sessionID)
	if session.Absent(err) || found.SystemOwned {
		return "", nil
	}
	return found.Cwd, err
}

// statesOfFolders stores the states of folders around turns, nil if they are not stored.
func (s *Server) statesOfFolders() manager.Trees {
	if s.trees == nil {
		return nil
	}
	return s.trees
}

// changes compares folders with their earlier states, nil if they are not stored.
func (s *Server) changes() operations.ChangeStore {
	if s.trees == nil {
		return nil
	}
	return s.trees
}
