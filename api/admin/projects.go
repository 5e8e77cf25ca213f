package admin

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var (
	projectNameField      = schema.Text{}.Trim().Min(1).Max(operations.MaxProjectName)
	workingDirectoryField = schema.Nullable(schema.Text{}.Trim().Min(1).Max(operations.MaxWorkingDirectory))
	projectBody           = schema.Struct(rest.Required("name", projectNameField),
		rest.Optional("workingDirectory", workingDirectoryField))
)

func (s *projectAPI) projectRoutes() []rest.Route {
	return append([]rest.Route{
		{Method: http.MethodGet, Path: "/api/projects", OwnReach: true, Handle: s.listProjects},
		{Method: http.MethodPost, Path: "/api/projects", Access: rest.AccessAdmin, Body: projectBody,
			Once: true, Handle: s.createProject},
		{Method: http.MethodPost, Path: "/api/projects/:projectId/rename", Access: rest.AccessAdmin, Body: projectBody,
			Handle: s.renameProject},
		{Method: http.MethodDelete, Path: "/api/projects/:projectId", Access: rest.AccessAdmin, Handle: s.deleteProject},
	}, s.chatRoutes()...)
}

type projectView struct {
	ProjectID        string  `json:"projectId"`
	Name             string  `json:"name"`
	WorkingDirectory *string `json:"workingDirectory"`
	CreatedAt        string  `json:"createdAt"`
	UpdatedAt        string  `json:"updatedAt"`
}

func viewProject(p session.Project) projectView {
	return projectView{p.ID, p.Name, p.WorkingDirectory, javascript.ISOTime(p.CreatedAt), javascript.ISOTime(p.UpdatedAt)}
}

func (s *projectAPI) listProjects(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	projects, pos, err := s.projects.ProjectsAt(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	views := make([]projectView, len(projects))
	for i, project := range projects {
		views[i] = viewProject(project)
	}
	return rest.OK(struct {
		Data []projectView `json:"data"`
		Pos  int64         `json:"pos"`
	}{views, pos})
}

func (s *projectAPI) createProject(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	project, err := s.projects.CreateProject(ctx, in.Body.Get("name").Text(),
		in.Body.Get("workingDirectory").TextPointer())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status  string      `json:"status"`
		Project projectView `json:"project"`
		// Orchestration is null because workers get their sessions on first use.
		Orchestration *struct{} `json:"orchestrationSession"`
	}{Status: "ok", Project: viewProject(project)})
}

func (s *projectAPI) renameProject(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	directory := in.Body.Get("workingDirectory")
	project, err := s.projects.RenameProject(ctx, in.Params["projectId"], in.Body.Get("name").Text(),
		directory.TextPointer(), directory.Defined())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status  string      `json:"status"`
		Project projectView `json:"project"`
	}{"ok", viewProject(project)})
}

func (s *projectAPI) deleteProject(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	project, err := s.projects.DeleteProject(ctx, in.Params["projectId"])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status     string `json:"status"`
		ProjectID  string `json:"projectId"`
		Unassigned int    `json:"unassignedSessionCount"`
	}{Status: "ok", ProjectID: project.ID})
}
