package admin

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
)

const (
	moveToNowhere = "unassigned"
	moveToArchive = "archive"
)

var moveChatsBody = schema.Struct(rest.Required("destination", schema.Enum(moveToNowhere, moveToArchive)))

// chatRoutes act on all chats of a project.
func (s *projectAPI) chatRoutes() []rest.Route {
	const one = "/api/projects/:projectId"
	return []rest.Route{
		{Method: http.MethodGet, Path: one + "/agent-sessions", Handle: s.listAgentSessions},
		{Method: http.MethodPost, Path: one + "/chats/move-all", Body: moveChatsBody, Handle: s.moveChats},
		{Method: http.MethodPost, Path: one + "/chats/delete-all", Handle: s.deleteChats},
	}
}

func (s *projectAPI) listAgentSessions(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	workers, err := s.projects.AgentSessions(ctx, in.Params["projectId"])
	if err != nil {
		return rest.Reply{}, err
	}
	type view struct {
		Agent       string `json:"agent"`
		SessionID   string `json:"sessionId"`
		SystemOwned bool   `json:"systemOwned"`
	}
	body := struct {
		Status    string `json:"status"`
		ProjectID string `json:"projectId"`
		Data      []view `json:"data"`
	}{"ok", in.Params["projectId"], make([]view, len(workers))}
	for i, worker := range workers {
		body.Data[i] = view{worker.Agent, worker.SessionID, true}
	}
	return rest.OK(body)
}

func (s *projectAPI) moveChats(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	destination := in.Body.Get("destination").Text()
	moved, err := s.projects.MoveChats(ctx, in.Params["projectId"], destination == moveToArchive)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status          string `json:"status"`
		ProjectID       string `json:"projectId"`
		Destination     string `json:"destination"`
		Moved           int    `json:"movedSessionCount"`
		Archived        int    `json:"archivedSessionCount"`
		AlreadyArchived int    `json:"alreadyArchivedSessionCount"`
	}{"ok", in.Params["projectId"], destination, moved.Moved, moved.Archived, moved.AlreadyArchived})
}

func (s *projectAPI) deleteChats(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	deleted, skipped, err := s.projects.DeleteChats(ctx, in.Params["projectId"])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status    string `json:"status"`
		ProjectID string `json:"projectId"`
		Deleted   int    `json:"deletedSessionCount"`
		Skipped   int    `json:"skippedSessionCount"`
	}{"ok", in.Params["projectId"], deleted, skipped})
}
