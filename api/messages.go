package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/schema"
	"harness/session"
)

var (
	sendMessageBody = schema.Struct(
		required("text", schema.Text{}.Trim().Min(1)), optional("model", modelField), optional("effort", effortField),
		optional("approvalPolicy", approvalPolicyField), optional("networkAccess", networkAccessField),
		optional("filesystemSandbox", filesystemSandboxField), optional("dynamicTools", dynamicToolsField), optional("images", imagesField))
	interruptBody = schema.Optional(schema.Struct(optional("turnId", nameField)))
)

func (s *server) messageRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/api/sessions/:sessionId/messages", guards: ownedSession, body: sendMessageBody, mapped: true, handle: s.sendMessage},
		// Nothing runs in an unknown session, which is what the answer says.
		{method: http.MethodPost, path: "/api/sessions/:sessionId/interrupt", guards: refuseDeleted | refuseSystem | requireOwner, body: interruptBody, handle: s.interrupt},
	}
}

type turnBody struct {
	Status    string `json:"status"`
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
}

func (s *server) sendMessage(ctx context.Context, in *input) (reply, error) {
	images, err := imageURLs(in.body.Get("images").Items())
	if err != nil {
		return reply{}, err
	}
	turnID, err := s.Sessions.Send(ctx, in.sessionID(), session.Message{
		Text: in.body.Get("text").Text(), Images: images, Model: modelOf(in.body), Effort: in.body.Get("effort").Text(),
		ApprovalPolicy: in.body.Get("approvalPolicy").TextPointer(), NetworkAccess: in.body.Get("networkAccess").TextPointer(),
		FilesystemSandbox: in.body.Get("filesystemSandbox").TextPointer(), DynamicTools: in.body.Get("dynamicTools").JSON(),
	})
	if err != nil {
		return reply{}, err
	}
	noteTurn(ctx, turnID)
	return reply{status: http.StatusAccepted, body: turnBody{"accepted", in.sessionID(), turnID}}, nil
}

func (s *server) interrupt(ctx context.Context, in *input) (reply, error) {
	if !in.found {
		return reply{}, session.ErrNoActiveTurn
	}
	turnID, err := s.Sessions.Interrupt(ctx, in.sessionID(), in.body.Get("turnId").Text())
	if errors.Is(err, session.ErrNotFound) {
		err = session.ErrNoActiveTurn // it went away meanwhile
	}
	if err != nil {
		return reply{}, err
	}
	noteTurn(ctx, turnID)
	return ok(turnBody{"ok", in.sessionID(), turnID})
}
