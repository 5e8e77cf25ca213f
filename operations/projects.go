package operations

import (
	"context"

	"harness/session"
)

// CreateProject makes a project. *InvalidError, *session.DuplicateNameError.
func (s *Service) CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error) {
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.opts.Sessions.CreateProject(ctx, name, workingDirectory)
}

// RenameProject changes a project's name and, when setDirectory, its working directory (nil clears it); errors as of
// CreateProject, and session.ErrProjectNotFound.
func (s *Service) RenameProject(ctx context.Context, projectID, name string, workingDirectory *string,
	setDirectory bool) (session.Project, error) {
	if err := checkProject(name, workingDirectory); err != nil {
		return session.Project{}, err
	}
	return s.opts.Sessions.RenameProject(ctx, projectID, name, workingDirectory, setDirectory)
}
