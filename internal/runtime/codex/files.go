package codex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"harness/internal/runtime"
)

// rollouts are the files of codex's conversations in its home.
type rollouts struct {
	configured string // CODEX_HOME, "" for codex's own default
	client     string // this server's version, for restored conversations

	mu       sync.Mutex
	reported string // the CODEX_HOME that codex reported
}

// homeDir returns the CODEX_HOME in use: configured, reported by codex (not by 0.101), or codex's own default.
func (r *rollouts) homeDir() string {
	r.mu.Lock()
	reported := r.reported
	r.mu.Unlock()
	if dir := cmp.Or(r.configured, reported, os.Getenv("CODEX_HOME")); dir != "" {
		return dir
	}
	if user, err := os.UserHomeDir(); err == nil {
		return filepath.Join(user, ".codex")
	}
	return ""
}

// threadFiles returns the files of a conversation: codex puts its id into their names.
func threadFiles(home, threadID string) ([]string, error) {
	// An id with special characters, or too short to be unique, must never select files.
	if home == "" || len(threadID) < 16 || strings.ContainsAny(threadID, `/\*?[`) || strings.Contains(threadID, "..") {
		return nil, nil
	}
	var found []string
	for _, folder := range []string{"sessions", "archived_sessions", "shell_snapshots"} {
		err := filepath.WalkDir(filepath.Join(home, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case entry.Type().IsRegular() && strings.Contains(entry.Name(), threadID):
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for the files of thread %s under CODEX_HOME: %w", threadID, err)
		}
	}
	return found, nil
}

// SnapshotFiles implements runtime.Movable. The file is the rollout of a conversation.
func (r *rollouts) SnapshotFiles(in runtime.ResumeThread) (folder string, names []string, err error) {
	home := r.homeDir()
	files, err := threadFiles(home, in.ThreadID)
	if err != nil {
		return "", nil, err
	}
	for _, path := range files {
		if !strings.HasPrefix(filepath.Base(path), rolloutPrefix) {
			continue
		}
		name, err := filepath.Rel(home, path)
		if err != nil {
			return "", nil, fmt.Errorf("name a file of thread %s: %w", in.ThreadID, err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	return home, names, nil
}

// SnapshotWritten implements runtime.Movable. codex has written a turn when it reports its end.
func (r *rollouts) SnapshotWritten(context.Context, runtime.ResumeThread) (bool, error) {
	return true, nil
}

// SnapshotPath implements runtime.Movable.
func (r *rollouts) SnapshotPath(_ runtime.ResumeThread, _, name string) (string, error) {
	return name, nil
}

func removeFiles(paths []string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file of a deleted thread: %w", err)
		}
	}
	return nil
}
