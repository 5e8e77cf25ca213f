package api

import (
	"context"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

// Chats is what the routes about all chats of a project at once need of the session room.
type Chats interface {
	// MoveChats takes the chats out of the project, archived first when archive is set. ErrProjectNotFound, *session.NotMaterializedError.
	MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error)
	// DeleteChats deletes the chats; skipped are those somebody else deleted meanwhile. ErrProjectNotFound.
	DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error)
	// AgentSessions lists the worker sessions of a project or of "session:<id>". ErrProjectNotFound.
	AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
}

const (
	moveToNowhere = "unassigned"
	moveToArchive = "archive"
)

var moveChatsBody = schema.Struct(required("destination", schema.Enum(moveToNowhere, moveToArchive)))

// chatRoutes act on all chats of a project.
func (s *server) chatRoutes() []route {
	const one = "/api/projects/:projectId"
	return []route{
		{method: http.MethodGet, path: one + "/agent-sessions", handle: s.listAgentSessions},
		{method: http.MethodPost, path: one + "/chats/move-all", body: moveChatsBody, handle: s.moveChats},
		{method: http.MethodPost, path: one + "/chats/delete-all", handle: s.deleteChats},
	}
}

func (s *server) listAgentSessions(ctx context.Context, in *input) (reply, error) {
	workers, err := s.Sessions.AgentSessions(ctx, in.params["projectId"])
	if err != nil {
		return reply{}, err
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
	}{"ok", in.params["projectId"], make([]view, len(workers))}
	for i, worker := range workers {
		body.Data[i] = view{worker.Agent, worker.SessionID, true}
	}
	return ok(body)
}

func (s *server) moveChats(ctx context.Context, in *input) (reply, error) {
	destination := in.body.Get("destination").Text()
	moved, err := s.Sessions.MoveChats(ctx, in.params["projectId"], destination == moveToArchive)
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status          string `json:"status"`
		ProjectID       string `json:"projectId"`
		Destination     string `json:"destination"`
		Moved           int    `json:"movedSessionCount"`
		Archived        int    `json:"archivedSessionCount"`
		AlreadyArchived int    `json:"alreadyArchivedSessionCount"`
	}{"ok", in.params["projectId"], destination, moved.Moved, moved.Archived, moved.AlreadyArchived})
}

func (s *server) deleteChats(ctx context.Context, in *input) (reply, error) {
	deleted, skipped, err := s.Sessions.DeleteChats(ctx, in.params["projectId"])
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status    string `json:"status"`
		ProjectID string `json:"projectId"`
		Deleted   int    `json:"deletedSessionCount"`
		Skipped   int    `json:"skippedSessionCount"`
	}{"ok", in.params["projectId"], deleted, skipped})
}
