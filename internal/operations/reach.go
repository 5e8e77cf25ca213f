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

// Who is limited to projects (auth.Principal.Projects) meets what belongs to another one, or to none, as what is not
// there: the answers are the same, word for word, so that nobody learns of it by asking.

// LimitedError refuses who is limited to projects what belongs to none of them.
type LimitedError struct{ Reason string }

// Error implements error.
func (e *LimitedError) Error() string {
	return "this access is limited to some projects: " + e.Reason
}

// CheckSession tells whether a session is within the limit of who asks: session.ErrNotFound when it is not, and when it
// is not there.
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

// CheckProject tells whether a project, or the session that stands in a project's place as "session:<id>", is within the
// limit of who asks: session.ErrProjectNotFound.
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

// CheckRequest tells whether an interactive request is of a session within the limit of who asks:
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

// CheckJob tells whether a job is within the limit of who asks: queue.ErrNotFound.
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

// checkScope refuses who is limited to projects what is for all sessions.
func checkScope(ctx context.Context, scope Scope) error {
	if scope == ScopeDefault && auth.ProjectsFrom(ctx) != nil {
		return &LimitedError{"the defaults of new sessions are the server's"}
	}
	return nil
}

// within are the requests of sessions within the limit of who asks.
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
