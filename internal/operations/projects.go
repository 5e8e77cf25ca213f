package operations

import (
	"context"
	"slices"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// CreateProject makes a project. *InvalidError, *session.DuplicateNameError.
func (s *Service) CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error) {
	if auth.ProjectsFrom(ctx) != nil {
		return session.Project{}, &LimitedError{"it makes no further ones"}
	}
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.opts.Sessions.CreateProject(ctx, name, workingDirectory)
}

// RenameProject changes a project's name and, when setDirectory, its working directory (nil clears it); errors as of
// CreateProject, and session.ErrProjectNotFound.
func (s *Service) RenameProject(ctx context.Context, projectID, name string, workingDirectory *string,
	setDirectory bool) (session.Project, error) {
	if err := s.CheckProject(ctx, projectID); err != nil {
		return session.Project{}, err
	}
	if setDirectory && auth.ProjectsFrom(ctx) != nil { // it is where its sessions may work
		return session.Project{}, &LimitedError{"where a project has its folder is for others to say; leave workingDirectory out"}
	}
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.opts.Sessions.RenameProject(ctx, projectID, name, workingDirectory, setDirectory)
}

// ProjectsAt implements Projects.
func (s *Service) ProjectsAt(ctx context.Context) ([]session.Project, int64, error) {
	all, pos, err := s.opts.Sessions.ProjectsAt(ctx)
	if limit := auth.ProjectsFrom(ctx); limit != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(p session.Project) bool { return !limit.Has(p.ID) })
	}
	return all, pos, err
}

// DeleteProject implements Projects.
func (s *Service) DeleteProject(ctx context.Context, projectID string) (session.Project, error) {
	if err := s.CheckProject(ctx, projectID); err != nil {
		return session.Project{}, err
	}
	return s.opts.Sessions.DeleteProject(ctx, projectID)
}

// MoveChats implements Projects.
func (s *Service) MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error) {
	if err := s.CheckProject(ctx, projectID); err != nil {
		return session.MovedChats{}, err
	}
	return s.opts.Sessions.MoveChats(ctx, projectID, archive)
}

// DeleteChats implements Projects.
func (s *Service) DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error) {
	if err := s.CheckProject(ctx, projectID); err != nil {
		return 0, 0, err
	}
	return s.opts.Sessions.DeleteChats(ctx, projectID)
}

// AgentSessions implements Projects.
func (s *Service) AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error) {
	if err := s.CheckProject(ctx, owner); err != nil {
		return nil, err
	}
	return s.opts.Sessions.AgentSessions(ctx, owner)
}
