package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"harness/internal/lib/shadow"
)

// Status is a worktree with what it has that its repository does not have.
type Status struct {
	Worktree
	// Uncommitted counts the files that are not committed, without ignored ones.
	Uncommitted int
	// Kept is why the worktree cannot be removed without force, "" if it can; Never means that force does not help.
	Kept  string
	Never bool
}

// List returns the worktrees of this server, without those in the making.
func (s *Service) List(ctx context.Context) ([]Status, error) {
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	listed := []Status{}
	for _, one := range all {
		if one.State == Making {
			continue
		}
		status := Status{Worktree: one}
		if one.State == Ready {
			if status, err = s.status(ctx, one); err != nil {
				return nil, err
			}
		}
		listed = append(listed, status)
	}
	return listed, nil
}

// status reads what a worktree has.
func (s *Service) status(ctx context.Context, one Worktree) (Status, error) {
	status := Status{Worktree: one}
	if _, err := os.Lstat(one.Folder); errors.Is(err, fs.ErrNotExist) {
		return status, nil
	}
	dir, err := os.MkdirTemp(s.opts.Dir, "read-*.git")
	if err != nil {
		return status, err
	}
	found, err := shadow.ReadUnsaved(ctx, one.Folder, dir)
	if err != nil {
		if ctx.Err() != nil {
			return status, err
		}
		status.Never = true
		status.Kept = fmt.Sprintf("its files cannot be compared with a commit (%v); save them and remove %s by hand", err, one.Folder)
		return status, os.RemoveAll(dir)
	}
	status.Uncommitted = len(found.Paths)
	switch {
	case found.Branch == "":
		status.Kept, status.Never = "its last commit is on no branch; make one with git switch -c NAME", true
	case found.Busy != "":
		status.Kept, status.Never = "a merge or rebase has not ended ("+found.Busy+"); finish or abort it", true
	case status.Uncommitted > 0:
		status.Kept = fmt.Sprintf("%d files are not committed (%s); commit them, or use force", status.Uncommitted, first(found.Paths))
	}
	return status, nil
}

// first names the first paths.
func first(paths []string) string {
	const most = 3
	names := strings.ToValidUTF8(strings.Join(paths[:min(most, len(paths))], ", "), "\uFFFD")
	if len(paths) > most {
		names += ", …"
	}
	return names
}

// Find returns a worktree that is in use or in the trash. ErrNotFound.
func (s *Service) Find(id string) (Worktree, error) {
	all, err := s.all()
	if err != nil {
		return Worktree{}, err
	}
	for _, one := range all {
		if one.ID == id && one.State != Making {
			return one, nil
		}
	}
	return Worktree{}, ErrNotFound
}

// Remove moves a worktree to the trash, and returns where it is. Its branch stays in the repository. Files that are not
// committed need force; nothing removes a folder in which a program works. ErrNotFound, *RefusedError.
func (s *Service) Remove(ctx context.Context, id string, force bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, err := s.Find(id)
	if err != nil {
		return "", err
	}
	if one.State == Ready {
		if pid := worksIn(one.Folder); pid != "" {
			return "", &RefusedError{"the process " + pid + " works in the worktree; end it first"}
		}
		status, err := s.status(ctx, one)
		if err != nil {
			return "", err
		}
		if status.Kept != "" && (status.Never || !force) {
			return "", &RefusedError{"the worktree is kept: " + status.Kept}
		}
		one.State, one.RemovedAt = Trash, s.opts.Clock().UTC()
		s.opts.Step("trash record")
		if err := s.write(one); err != nil {
			return "", err
		}
	}
	return s.trash(one), s.moveToTrash(one)
}

// trash returns where a removed worktree is.
func (s *Service) trash(one Worktree) string {
	return filepath.Join(filepath.Dir(filepath.Dir(one.Folder)), ".trash", one.ID)
}

// moveToTrash moves a folder to the trash, and removes what its repository has of it. It may be repeated.
func (s *Service) moveToTrash(one Worktree) error {
	to := s.trash(one)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	s.opts.Step("trash folder")
	if err := os.Rename(one.Folder, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.opts.Step("trash link")
	if gone(one) {
		return nil
	}
	return one.Repository.Unlink(one.Folder)
}

// emptyTrash deletes the folders that were removed a week ago.
func (s *Service) emptyTrash() {
	all, err := s.all()
	for _, one := range all {
		if s.running.Err() != nil {
			return
		}
		if one.State != Trash || s.opts.Clock().Sub(one.RemovedAt) < keptTrash {
			continue
		}
		if err = os.RemoveAll(s.trash(one)); err == nil {
			err = s.forget(one.ID)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		s.opts.Logger.Error().Err(err).Msg("removed worktrees could not be deleted; this is tried again at the next start")
	}
}

// worksIn returns a process that has its folder in a worktree, "" for none, or where processes cannot be listed.
func worksIn(folder string) string {
	found, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		return ""
	}
	for _, link := range found {
		at, err := os.Readlink(link)
		if err == nil && contains(folder, at) {
			return filepath.Base(filepath.Dir(link))
		}
	}
	return ""
}
