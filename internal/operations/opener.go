package operations

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
)

// NodeRules refuses what this node does not do: *session.ElsewhereError.
type NodeRules interface {
	// CheckNew refuses new sessions on a node that creates none.
	CheckNew() error
	// CheckRuns refuses operations that need an agent on a node that runs none.
	CheckRuns() error
}

// OpenerStore has the methods of sessions that Opener needs.
type OpenerStore interface {
	NodeRules
	// CheckFolder returns the absolute path of a session's working directory: *session.FolderError.
	CheckFolder(cwd string) (string, error)
	Create(ctx context.Context, in session.Create) (session.Session, error)
	// PromiseSession returns a temporary id for a session that KeepPromise then opens; RealID returns the session's
	// own id for it.
	PromiseSession(ctx context.Context, runtimeName, projectID string) (session.Temporary, error)
	KeepPromise(ctx context.Context, t session.Temporary, in session.Create, word func(error) string) error
	RealID(ctx context.Context, id string) (string, error)
}

// Opener opens sessions.
type Opener struct {
	NodeRules
	access   *Access
	store    OpenerStore
	runtimes *RuntimeAdmin
	projects *Projects
	// worktrees is nil where no session runs.
	worktrees WorktreeStore
}

// Create opens a session. A blank directory or model means none. session.ErrProjectNotFound, *LimitedError,
// *session.ElsewhereError.
func (s *Opener) Create(ctx context.Context, in session.Create) (session.Session, error) {
	in, err := s.prepare(ctx, in)
	if err != nil {
		return session.Session{}, err
	}
	if in.Worktree != nil {
		return s.createIn(ctx, in)
	}
	return s.store.Create(ctx, in)
}

// prepare checks a request for a new session and sets its runtime.
func (s *Opener) prepare(ctx context.Context, in session.Create) (session.Create, error) {
	if err := s.CheckNew(); err != nil {
		return in, err // the creator checks it, with its own settings
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

// named trims a model's name; a blank one means no model.
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

// PendingSession is a session that is being opened, with the client's temporary id.
type PendingSession struct {
	ID   string
	keep func(ctx context.Context, word func(error) string) error
}

// Keep opens the session, and publishes an event with the outcome. It continues when ctx ends; word converts an error
// for clients.
func (p PendingSession) Keep(ctx context.Context, word func(error) string) error {
	return p.keep(ctx, word)
}

// CreateLater is Create in a project for a client that gets the session's id later. Call Keep on the result.
func (s *Opener) CreateLater(ctx context.Context, in session.Create, projectID string) (PendingSession, error) {
	in.ProjectID = projectID
	in, err := s.prepare(ctx, in)
	if err != nil {
		return PendingSession{}, err
	}
	t, err := s.store.PromiseSession(ctx, in.Runtime, projectID)
	return PendingSession{ID: t.ID, keep: func(ctx context.Context, word func(error) string) error {
		return s.store.KeepPromise(ctx, t, in, word)
	}}, err
}

// RealID returns the session's own id for a temporary one; other ids are returned unchanged. session.ErrNotFound.
func (s *Opener) RealID(ctx context.Context, id string) (string, error) {
	return s.store.RealID(ctx, id)
}

// settle assigns a new session of a project-limited caller to one of its projects, and restricts it to that directory.
// It compares directories by name and does not treat symbolic links specially.
func (s *Opener) settle(ctx context.Context, in session.Create) (session.Create, error) {
	limit := auth.ProjectsFrom(ctx)
	if limit == nil {
		return in, nil
	}
	if ids := limit.IDs(); in.ProjectID == "" && len(ids) == 1 {
		in.ProjectID = ids[0]
	}
	if in.ProjectID == "" {
		return in, &LimitedError{"name the project of the session (projectId)"}
	}
	folder, err := s.projectFolder(ctx, in.ProjectID)
	switch {
	case err != nil:
		return in, err
	case folder == "" && in.Cwd != "":
		return in, &LimitedError{"the project has no directory, so its sessions use the server's; omit cwd"}
	case folder == "":
	case in.Cwd == "":
		in.Cwd = folder
	case !under(in.Cwd, folder):
		return in, &LimitedError{"its sessions work in or below the project's directory; omit cwd"}
	}
	return in, nil
}

// projectFolder returns the directory of a project, "" for none. session.ErrProjectNotFound.
func (s *Opener) projectFolder(ctx context.Context, projectID string) (string, error) {
	all, _, err := s.projects.ProjectsAt(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(p session.Project) bool { return p.ID == projectID })
	switch {
	case at < 0:
		return "", session.ErrProjectNotFound
	case all[at].WorkingDirectory == nil:
		return "", nil
	}
	return *all[at].WorkingDirectory, nil
}

// under reports whether a path is a directory or below it.
func under(path, folder string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	inside, err := filepath.Rel(filepath.Clean(folder), filepath.Clean(path))
	return err == nil && filepath.IsLocal(inside)
}
