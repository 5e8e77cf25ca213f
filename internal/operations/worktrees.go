package operations

import (
	"context"
	"errors"

	"harness/internal/platform/auth"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/worktree"
)

// WorktreeStore makes and removes worktrees on this server.
type WorktreeStore interface {
	Make(ctx context.Context, wish worktree.Wish) (worktree.Worktree, error)
	Keep(made worktree.Worktree) error
	Discard(ctx context.Context, made worktree.Worktree) error
	List(ctx context.Context) ([]worktree.Status, error)
	Find(id string) (worktree.Worktree, error)
	Remove(ctx context.Context, id string, force bool) (trash string, err error)
}

// Worktrees are those of the sessions of this server.
type Worktrees struct {
	reader *Reader
	store  WorktreeStore
}

// errNoWorktrees refuses worktrees where no session runs.
var errNoWorktrees = &worktree.RefusedError{Reason: "this server runs no sessions, so it has no worktrees"}

// SessionWorktree is a worktree with the session that works in it, nil if there is none.
type SessionWorktree struct {
	worktree.Status
	Session *session.Session
}

// Worktrees returns the worktrees of this server. A caller that is limited to projects gets those of its sessions.
func (s *Worktrees) Worktrees(ctx context.Context) ([]SessionWorktree, error) {
	if s.store == nil {
		return nil, errNoWorktrees
	}
	found, err := s.store.List(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	all, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	var listed []SessionWorktree
	for _, one := range found {
		user := userOf(one.Worktree, all)
		if user != nil || auth.ProjectsFrom(ctx) == nil {
			listed = append(listed, SessionWorktree{one, user})
		}
	}
	return listed, nil
}

// sessions returns all sessions that the caller may see, archived ones last.
func (s *Worktrees) sessions(ctx context.Context) (all []session.Session, err error) {
	for _, archived := range []bool{false, true} {
		query := session.ListQuery{Archived: archived, Limit: MaxPage}
		for {
			page, err := s.reader.List(ctx, query)
			if err != nil {
				return nil, err
			}
			all = append(all, page.Sessions...)
			if query.Cursor = page.NextCursor; query.Cursor == "" {
				break
			}
		}
	}
	return all, nil
}

// userOf returns the first session that works in a worktree, nil for none.
func userOf(one worktree.Worktree, all []session.Session) *session.Session {
	for i := range all {
		if all[i].Cwd != "" && one.Has(all[i].Cwd) {
			return &all[i]
		}
	}
	return nil
}

// RemoveWorktree moves a worktree to the trash, and returns where it is. Its branch stays. A session that is not
// archived keeps its worktree. worktree.ErrNotFound, *worktree.RefusedError.
func (s *Worktrees) RemoveWorktree(ctx context.Context, id string, force bool) (trash string, err error) {
	if s.store == nil {
		return "", errNoWorktrees
	}
	one, err := s.store.Find(id)
	if err != nil {
		return "", err
	}
	all, err := s.sessions(ctx)
	if err != nil {
		return "", err
	}
	if user := userOf(one, all); user != nil && !user.Archived {
		return "", &worktree.RefusedError{Reason: "session " + user.ID + " works in the worktree; archive or delete it first"}
	}
	return s.store.Remove(ctx, id, force)
}

// createIn opens a session in a worktree of its own. A session that is not opened leaves none.
func (s *Opener) createIn(ctx context.Context, in session.Create) (session.Session, error) {
	if s.worktrees == nil {
		return session.Session{}, errNoWorktrees
	}
	wish := worktree.Wish{Folder: in.Cwd, Base: in.Worktree.Base, Branch: in.Worktree.Branch}
	if auth.ProjectsFrom(ctx) != nil {
		folder, err := s.projectFolder(ctx, in.ProjectID)
		if err != nil {
			return session.Session{}, err
		}
		if wish.Within = folder; folder == "" {
			return session.Session{}, &LimitedError{"the project has no directory, so its sessions have no worktrees"}
		}
	}
	made, err := s.worktrees.Make(ctx, wish)
	if err != nil {
		return session.Session{}, err
	}
	in.Cwd = made.Cwd()
	created, err := s.store.Create(ctx, in)
	var outage *journal.OutageError
	if err != nil && !errors.Is(err, runtime.ErrTimeout) && !errors.As(err, &outage) {
		return created, errors.Join(err, s.worktrees.Discard(ctx, made))
	}
	return created, errors.Join(err, s.worktrees.Keep(made)) // after a timeout, the session may appear later
}
