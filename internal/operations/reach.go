package operations

import (
	"context"
	"errors"
	"slices"
	"strings"

	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
)

// For a caller that is limited to projects (auth.Principal.Projects), objects of other projects do not exist: the
// responses are identical, so that no caller can detect them.

// LimitedError refuses a project-limited caller anything outside its projects.
type LimitedError struct{ Reason string }

// Error implements error.
func (e *LimitedError) Error() string {
	return "this caller is limited to some projects: " + e.Reason
}

// CheckSession checks that a session is within the caller's limit: session.ErrNotFound when it is not, or does not
// exist.
func (s *Access) CheckSession(ctx context.Context, sessionID string) error {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil {
		return nil
	}
	projects, err := s.lookups.ProjectsOf(ctx, sessionID)
	if err == nil && !limit.Has(projects[sessionID]) {
		err = session.ErrNotFound
	}
	return err
}

// CheckProject checks that a project, or the session of "session:<id>", is within the caller's limit:
// session.ErrProjectNotFound.
func (s *Access) CheckProject(ctx context.Context, owner string) error {
	limit := auth.ProjectsFrom(ctx)
	if limit.Has(owner) {
		return nil
	}
	if session.IsSession(owner) {
		_, id, _ := strings.Cut(owner, ":")
		err := s.CheckSession(ctx, id)
		if !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return session.ErrProjectNotFound
}

// CheckRequest checks that the session of an interactive request is within the caller's limit:
// session.ErrRequestNotFound.
func (s *Access) CheckRequest(ctx context.Context, requestID string, kind runtime.RequestKind) error {
	if auth.ProjectsFrom(ctx) == nil {
		return nil
	}
	sessionID, err := s.lookups.SessionOfRequest(ctx, requestID, kind)
	if err == nil {
		err = s.CheckSession(ctx, sessionID)
	}
	if errors.Is(err, session.ErrNotFound) {
		return session.ErrRequestNotFound
	}
	return err
}

// CheckJob checks that a job is within the caller's limit: queue.ErrNotFound.
func (s *Access) CheckJob(ctx context.Context, jobID string) error {
	if auth.ProjectsFrom(ctx) == nil {
		return nil
	}
	if s.jobs == nil {
		return ErrQueueOff
	}
	job, err := s.jobs.Job(ctx, jobID)
	if err == nil {
		err = s.CheckProject(ctx, job.ProjectID)
	}
	if errors.Is(err, session.ErrProjectNotFound) {
		return queue.ErrNotFound
	}
	return err
}

// checkScope refuses a project-limited caller a scope that applies to all sessions.
func checkScope(ctx context.Context, scope Scope) error {
	if scope == ScopeDefault && auth.ProjectsFrom(ctx) != nil {
		return &LimitedError{"the defaults of new sessions apply to all projects"}
	}
	return nil
}

// within returns the requests of sessions within the caller's limit.
func (s *Access) within(ctx context.Context, requests []session.Request) ([]session.Request, error) {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil || len(requests) == 0 {
		return requests, nil
	}
	sessions := make([]string, len(requests))
	for i, r := range requests {
		sessions[i] = r.SessionID
	}
	slices.Sort(sessions)
	projects, err := s.lookups.ProjectsOf(ctx, slices.Compact(sessions)...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(requests), func(r session.Request) bool {
		return !limit.Has(projects[r.SessionID])
	}), nil
}
