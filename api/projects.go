package api

import (
	"context"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

var (
	projectNameField      = schema.Text{}.Trim().Min(1).Max(120)
	workingDirectoryField = schema.Nullable(schema.Text{}.Trim().Min(1).Max(2000))
	projectBody           = schema.Struct(required("name", projectNameField), optional("workingDirectory", workingDirectoryField))
)

func (s *server) projectRoutes() []route {
	return append([]route{
		{method: http.MethodGet, path: "/api/projects", handle: s.listProjects},
		{method: http.MethodPost, path: "/api/projects", body: projectBody, handle: s.createProject},
		{method: http.MethodPost, path: "/api/projects/:projectId/rename", body: projectBody, handle: s.renameProject},
		{method: http.MethodDelete, path: "/api/projects/:projectId", handle: s.deleteProject},
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
	return projectView{p.ID, p.Name, p.WorkingDirectory, isoTime(p.CreatedAt), isoTime(p.UpdatedAt)}
}

func (s *server) listProjects(ctx context.Context, _ *input) (reply, error) {
	projects, pos, err := s.Sessions.ProjectsAt(ctx)
	if err != nil {
		return reply{}, err
	}
	views := make([]projectView, len(projects))
	for i, project := range projects {
		views[i] = viewProject(project)
	}
	return ok(struct {
		Data []projectView `json:"data"`
		Pos  int64         `json:"pos"`
	}{views, pos})
}

// dataBody is the envelope of lists that have no pages.
type dataBody[T any] struct {
	Data []T `json:"data"`
}

func (s *server) createProject(ctx context.Context, in *input) (reply, error) {
	project, err := s.Sessions.CreateProject(ctx, in.body.Get("name").Text(), in.body.Get("workingDirectory").TextPointer())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status  string      `json:"status"`
		Project projectView `json:"project"`
		// Orchestration is null: workers get their sessions when they are first needed.
		Orchestration *struct{} `json:"orchestrationSession"`
	}{Status: "ok", Project: viewProject(project)})
}

func (s *server) renameProject(ctx context.Context, in *input) (reply, error) {
	directory := in.body.Get("workingDirectory")
	project, err := s.Sessions.RenameProject(ctx, in.params["projectId"], in.body.Get("name").Text(), directory.TextPointer(), directory.Defined())
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status  string      `json:"status"`
		Project projectView `json:"project"`
	}{"ok", viewProject(project)})
}

func (s *server) deleteProject(ctx context.Context, in *input) (reply, error) {
	project, err := s.Sessions.DeleteProject(ctx, in.params["projectId"])
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status     string `json:"status"`
		ProjectID  string `json:"projectId"`
		Unassigned int    `json:"unassignedSessionCount"`
	}{Status: "ok", ProjectID: project.ID})
}
