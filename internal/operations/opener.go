package operations

import (
	"context"
	"harness/internal/platform/auth"
	"harness/internal/services/session"
	"path/filepath"
	"slices"
	"strings"
)

// OpenerStore is what Opener needs of sessions.
type OpenerStore interface {
	// CheckNew refuses with *session.ElsewhereError sessions at a node that makes none.
	CheckNew() error
	// CheckRuns refuses with *session.ElsewhereError what needs an agent at a node that runs none.
	CheckRuns() error
	// CheckFolder is the absolute path of the folder a session is to work in: *session.FolderError.
	CheckFolder(cwd string) (string, error)
	Create(ctx context.Context, in session.Create) (session.Session, error)
	// PromiseSession gives out a temporary id for a session that KeepPromise then opens; RealID is the session's own for
	// it.
	PromiseSession(ctx context.Context, runtimeName, projectID string) (session.Temporary, error)
	KeepPromise(ctx context.Context, t session.Temporary, in session.Create, word func(error) string) error
	RealID(ctx context.Context, id string) (string, error)
}

// Opener opens sessions.
type Opener struct {
	access   *Access
	store    OpenerStore
	runtimes *RuntimeAdmin
	projects *Projects
}

// Create opens a session. A blank folder or model is none. session.ErrProjectNotFound, *LimitedError,
// *session.ElsewhereError.
func (s *Opener) Create(ctx context.Context, in session.Create) (session.Session, error) {
	in, err := s.prepare(ctx, in)
	if err != nil {
		return session.Session{}, err
	}
	return s.store.Create(ctx, in)
}

// CheckNew refuses sessions at a node that makes none: *session.ElsewhereError.
func (s *Opener) CheckNew() error { return s.store.CheckNew() }

// CheckRuns refuses what needs an agent at a node that runs none: *session.ElsewhereError.
func (s *Opener) CheckRuns() error { return s.store.CheckRuns() }

// prepare checks what a client wants of a new session and fills in the runtime it gets.
func (s *Opener) prepare(ctx context.Context, in session.Create) (session.Create, error) {
	if err := s.CheckNew(); err != nil {
		return in, err // who makes it checks it, by what is set there
	}
	var p problems
	p.most("runtime", in.Runtime, MaxRuntimeName)
	p.tools(in.DynamicTools)
	if err := p.err(); err != nil {
		return in, err
	}
	if in.RuntimeNamed = in.Runtime != ""; !in.RuntimeNamed {
		in.Runtime = s.runtimes.DefaultRuntime()
	}
	in.Cwd, in.Model = strings.TrimSpace(in.Cwd), named(in.Model)
	if err := s.access.CheckEnabled(in.Runtime); err != nil {
		return in, err
	}
	in, err := s.settle(ctx, in)
	if err == nil {
		in.Cwd, err = s.store.CheckFolder(in.Cwd)
	}
	return in, err
}

// named is a model's name without blanks around it; a blank one is no model.
func named(model *string) *string {
	if model == nil {
		return nil
	}
	name := strings.TrimSpace(*model)
	if name == "" {
		return nil
	}
	return &name
}

// Promise is a session that is being opened, by the temporary id a client has for it.
type Promise struct {
	ID   string
	keep func(ctx context.Context, word func(error) string) error
}

// Keep opens the session, and tells how that went by an event. It goes on when ctx ends; word puts an error for
// clients.
func (p Promise) Keep(ctx context.Context, word func(error) string) error { return p.keep(ctx, word) }

// CreateLater is Create in a project for a client that is told the session's id afterwards. Call Keep of what it
// returns.
func (s *Opener) CreateLater(ctx context.Context, in session.Create, projectID string) (Promise, error) {
	in.ProjectID = projectID
	in, err := s.prepare(ctx, in)
	if err != nil {
		return Promise{}, err
	}
	t, err := s.store.PromiseSession(ctx, in.Runtime, projectID)
	return Promise{ID: t.ID, keep: func(ctx context.Context, word func(error) string) error {
		return s.store.KeepPromise(ctx, t, in, word)
	}}, err
}

// RealID is the session's own id for a temporary one; others are returned as they are. session.ErrNotFound.
func (s *Opener) RealID(ctx context.Context, id string) (string, error) {
	return s.store.RealID(ctx, id)
}

// settle puts a new session of who is limited to projects into one of them, and keeps it in its folder. The folder is
// compared by name; links in it lead where they lead.
func (s *Opener) settle(ctx context.Context, in session.Create) (session.Create, error) {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil {
		return in, nil
	}
	if ids := limit.IDs(); in.ProjectID == "" && len(ids) == 1 {
		in.ProjectID = ids[0]
	}
	if in.ProjectID == "" {
		return in, &LimitedError{"name the one the session is to be opened in (projectId)"}
	}
	all, _, err := s.projects.ProjectsAt(ctx)
	if err != nil {
		return in, err
	}
	at := slices.IndexFunc(all, func(p session.Project) bool { return p.ID == in.ProjectID })
	if at < 0 {
		return in, session.ErrProjectNotFound
	}
	folder := all[at].WorkingDirectory
	switch {
	case folder == nil && in.Cwd != "":
		return in, &LimitedError{"the project has no folder, so that its sessions work in the server's; leave cwd out"}
	case folder == nil:
	case in.Cwd == "":
		in.Cwd = *folder
	case !under(in.Cwd, *folder):
		return in, &LimitedError{"its sessions work in the folder of the project or below it; leave cwd out"}
	}
	return in, nil
}

// under tells whether a path is a folder or below it.
func under(path, folder string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	inside, err := filepath.Rel(filepath.Clean(folder), filepath.Clean(path))
	return err == nil && filepath.IsLocal(inside)
}
