package operations

import (
	"context"
	"slices"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// ProjectStore has the methods of sessions that Projects needs.
type ProjectStore interface {
	// ProjectsAt lists all projects, with the cursor of the event stream at which the list is current.
	ProjectsAt(ctx context.Context) (projects []session.Project, pos int64, err error)
	CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error)
	// RenameProject changes the name and, with setDirectory, the working directory (nil clears it).
	RenameProject(ctx context.Context, projectID, name string, workingDirectory *string, setDirectory bool) (
		session.Project, error)
	DeleteProject(ctx context.Context, projectID string) (session.Project, error)
	// MoveChats removes the chats from the project, archived first when archive is set. ErrProjectNotFound,
	// *session.NotMaterializedError.
	MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error)
	// DeleteChats deletes the chats; skipped counts those that another caller deleted in the meantime.
	// ErrProjectNotFound.
	DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error)
	// AgentSessions lists the worker sessions of a project or of "session:<id>". ErrProjectNotFound.
	AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
}

// Projects manages the projects of sessions.
type Projects struct {
	access *Access
	store  ProjectStore
}

// CreateProject creates a project. *InvalidError, *session.DuplicateNameError.
func (s *Projects) CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error) {
	if auth.ProjectsFrom(ctx) != nil {
		return session.Project{}, &LimitedError{"it cannot create projects"}
	}
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.store.CreateProject(ctx, name, workingDirectory)
}

// RenameProject changes a project's name and, with setDirectory, its working directory (nil clears it); errors as for
// CreateProject, and session.ErrProjectNotFound.
func (s *Projects) RenameProject(ctx context.Context, projectID, name string, workingDirectory *string,
	setDirectory bool) (session.Project, error) {
	if err := s.access.CheckProject(ctx, projectID); err != nil {
		return session.Project{}, err
	}
	if setDirectory && auth.ProjectsFrom(ctx) != nil { // its sessions may work in this directory
		return session.Project{}, &LimitedError{"it cannot change the directory of a project; omit workingDirectory"}
	}
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.store.RenameProject(ctx, projectID, name, workingDirectory, setDirectory)
}

// ProjectsAt implements Projects.
func (s *Projects) ProjectsAt(ctx context.Context) ([]session.Project, int64, error) {
	all, pos, err := s.store.ProjectsAt(ctx)
	if limit := auth.ProjectsFrom(ctx); limit != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(p session.Project) bool { return !limit.Has(p.ID) })
	}
	return all, pos, err
}

// DeleteProject implements Projects.
func (s *Projects) DeleteProject(ctx context.Context, projectID string) (session.Project, error) {
	return after(s.access.CheckProject(ctx, projectID), func() (session.Project, error) {
		return s.store.DeleteProject(ctx, projectID)
	})
}

// MoveChats implements Projects.
func (s *Projects) MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error) {
	return after(s.access.CheckProject(ctx, projectID), func() (session.MovedChats, error) {
		return s.store.MoveChats(ctx, projectID, archive)
	})
}

// DeleteChats implements Projects.
func (s *Projects) DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error) {
	if err := s.access.CheckProject(ctx, projectID); err != nil {
		return 0, 0, err
	}
	return s.store.DeleteChats(ctx, projectID)
}

// AgentSessions implements Projects.
func (s *Projects) AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error) {
	return after(s.access.CheckProject(ctx, owner), func() ([]session.AgentSession, error) {
		return s.store.AgentSessions(ctx, owner)
	})
}
