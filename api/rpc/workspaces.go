package rpc

import (
	"context"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/services/session"
)

func workspaceMethods() []method {
	one := []param{text("workspace_id", "The project.").must()}
	inSession := []param{text("workspace_id", "The project.").must(), text("session_id", "The session.").must(),
		agentParam()}
	return []method{
		{name: "workspace/list", summary: "The projects that have a directory, with their sessions.", role: roleViewer,
			params: []param{flag("include_git", "Unused.")}, result: object("workspaces"), handle: listWorkspaces},
		{name: "workspace/get", summary: "A workspace with its sessions.", role: roleViewer, params: one,
			result: ref("Workspace"), handle: getWorkspace},
		{name: "workspace/status", summary: "A workspace, and whether this socket watches a session in it.", role: roleViewer,
			params: one, result: ref("Workspace"), handle: workspaceStatus},
		{name: "workspace/add", summary: "Create a project for a directory.", role: roleAdmin,
			params: []param{text("name", "Its name.").must(), text("path", "The directory on the server.").must(),
				flag("auto_start", "Unused.")},
			result: ref("Workspace"), handle: addWorkspace},
		{name: "workspace/update", summary: "Rename a workspace.", role: roleAdmin,
			params: []param{text("id", "The project.").must(), text("name", "Its new name.").must()}, result: ref("Workspace"),
			handle: updateWorkspace},
		{name: "workspace/remove", summary: "Delete a project without sessions.", role: roleAdmin, params: one,
			result: object("success"), handle: removeWorkspace},
		{name: "workspace/session/activate",
			summary: "Select the session of a workspace to continue; this has no effect.", role: roleOperator,
			scope: scopeRuntime, params: inSession, result: object("success", "workspace_id", "session_id", "message"),
			handle: activate},
		{name: "workspace/session/delete", summary: "Delete a session permanently.", role: roleOperator, scope: scopeRuntime,
			params: inSession, result: object("success", "status", "workspace_id", "session_id"), handle: deleteSession},
		{name: "session/delete", summary: "As workspace/session/delete.", role: roleOperator, scope: scopeRuntime,
			params: []param{text("session_id", "The session.").must(), agentParam()},
			result: object("success", "status", "workspace_id", "session_id"), handle: deleteSession},
	}
}

// workspaceView is a project that has a directory.
type workspaceView struct {
	ID              string        `json:"id"`
	WorkspaceID     string        `json:"workspace_id"`
	Name            string        `json:"name"`
	Path            string        `json:"path"`
	AutoStart       bool          `json:"auto_start"`
	CreatedAt       string        `json:"created_at"`
	Sessions        []sessionView `json:"sessions"`
	ActiveCount     int           `json:"active_session_count"`
	HasActive       bool          `json:"has_active_session"`
	ActiveSession   string        `json:"active_session_id"`
	ActiveAgentType string        `json:"active_agent_type,omitempty"`
	// Watched and WatchedSession are part of workspace/status only.
	Watched        *bool   `json:"is_being_watched,omitempty"`
	WatchedSession *string `json:"watched_session_id,omitempty"`
}

// workspaces returns the projects with a directory.
func (c *call) workspaces(ctx context.Context) ([]session.Project, error) {
	projects, _, err := c.ops().ProjectsAt(ctx)
	return slices.DeleteFunc(projects, func(p session.Project) bool { return p.WorkingDirectory == nil }), err
}

// workspace returns the project with an id, if it has a directory. Error: session.ErrProjectNotFound.
func (c *call) workspace(ctx context.Context, id string) (session.Project, error) {
	all, err := c.workspaces(ctx)
	if err != nil {
		return session.Project{}, err
	}
	if at := slices.IndexFunc(all, func(p session.Project) bool { return p.ID == id }); at >= 0 {
		return all[at], nil
	}
	return session.Project{}, session.ErrProjectNotFound
}

// mostListed limits the number of sessions shown with a workspace.
const mostListed = 50

func (c *call) viewWorkspace(ctx context.Context, p session.Project) (workspaceView, error) {
	v := workspaceView{ID: p.ID, WorkspaceID: p.ID, Name: p.Name, CreatedAt: javascript.ISOTime(p.CreatedAt),
		Sessions: []sessionView{}}
	if p.WorkingDirectory != nil {
		v.Path = *p.WorkingDirectory
	}
	err := c.every(ctx, session.ListQuery{ProjectID: p.ID}, func(one session.Session) bool {
		if !c.shows(one.Runtime, "") {
			return true
		}
		if turning(one.Activity.State) {
			if v.ActiveCount++; v.ActiveSession == "" {
				v.HasActive, v.ActiveSession, v.ActiveAgentType = true, one.ID, one.Runtime
			}
		}
		if len(v.Sessions) < mostListed {
			v.Sessions = append(v.Sessions, viewSession(one))
		}
		return true
	})
	if err == nil {
		err = c.countedAll(ctx, v.Sessions)
	}
	return v, err
}

func listWorkspaces(ctx context.Context, c *call) (any, error) {
	all, err := c.workspaces(ctx)
	if err != nil {
		return nil, err
	}
	views := []workspaceView{}
	for _, one := range all {
		view, err := c.viewWorkspace(ctx, one)
		if err != nil {
			return nil, err
		}
		views = append(views, view)
	}
	return struct {
		Workspaces []workspaceView `json:"workspaces"`
	}{views}, nil
}

func getWorkspace(ctx context.Context, c *call) (any, error) {
	found, err := c.workspace(ctx, c.text("workspace_id"))
	if err != nil {
		return nil, err
	}
	return c.viewWorkspace(ctx, found)
}

func workspaceStatus(ctx context.Context, c *call) (any, error) {
	found, err := c.workspace(ctx, c.text("workspace_id"))
	if err != nil {
		return nil, err
	}
	view, err := c.viewWorkspace(ctx, found)
	c.peer.mu.Lock()
	defer c.peer.mu.Unlock()
	watched, session := false, ""
	for id, place := range c.peer.watches {
		if place.Workspace == found.ID {
			watched, session = true, id
		}
	}
	view.Watched, view.WatchedSession = &watched, &session
	return view, err
}

func addWorkspace(ctx context.Context, c *call) (any, error) {
	path := c.text("path")
	made, err := c.ops().CreateProject(ctx, c.text("name"), &path)
	if err != nil {
		return nil, err
	}
	return c.viewWorkspace(ctx, made)
}

func updateWorkspace(ctx context.Context, c *call) (any, error) {
	if _, err := c.workspace(ctx, c.text("id")); err != nil {
		return nil, err
	}
	changed, err := c.ops().RenameProject(ctx, c.text("id"), c.text("name"), nil, false)
	if err != nil {
		return nil, err
	}
	return c.viewWorkspace(ctx, changed)
}

func removeWorkspace(ctx context.Context, c *call) (any, error) {
	_, err := c.ops().DeleteProject(ctx, c.text("workspace_id"))
	return success{err == nil}, err
}

// sessionDone is the result of an operation on a workspace's session.
type sessionDone struct {
	Success     bool   `json:"success"`
	Status      string `json:"status"`
	WorkspaceID string `json:"workspace_id"`
	SessionID   string `json:"session_id"`
	Message     string `json:"message,omitempty"`
}

func activate(_ context.Context, c *call) (any, error) {
	return sessionDone{true, "active", c.session.Owner(), c.session.ID, "The session is ready"}, nil
}

func deleteSession(ctx context.Context, c *call) (any, error) {
	if _, err := c.ops().Delete(ctx, c.session.ID); err != nil {
		return nil, err
	}
	return sessionDone{Success: true, Status: "deleted", WorkspaceID: c.session.Owner(), SessionID: c.session.ID},
		nil
}
