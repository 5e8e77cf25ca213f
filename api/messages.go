package api

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/operations"
	"harness/session"
)

var (
	sendMessageBody = messageBody(rest.Optional("dynamicTools", dynamicToolsField))
	interruptBody   = schema.Optional(schema.Struct(rest.Optional("turnId", rest.Name)))
)

// messageBody is a message and what else may go with it; messageOf reads it.
func messageBody(more ...schema.Field) schema.Schema {
	fields := append([]schema.Field{
		rest.Required("text", schema.Text{}.Trim().Min(1)), rest.Optional("model", modelField),
		rest.Optional("effort", effortField), rest.Optional("approvalPolicy", approvalPolicyField),
		rest.Optional("networkAccess", networkAccessField), rest.Optional("filesystemSandbox", filesystemSandboxField),
	}, more...)
	return schema.Struct(append(fields, rest.Optional("images", imagesField))...)
}

func messageOf(in *rest.Input) session.Message {
	body := in.Body
	return session.Message{
		Key: in.Key, Text: body.Get("text").Text(), Images: imageURLs(body.Get("images").Items()), Model: body.Get("model").TextPointer(),
		Effort: body.Get("effort").Text(), ApprovalPolicy: body.Get("approvalPolicy").TextPointer(),
		NetworkAccess: body.Get("networkAccess").TextPointer(), FilesystemSandbox: body.Get("filesystemSandbox").TextPointer(),
		DynamicTools: body.Get("dynamicTools").JSON(),
	}
}

// imagesField takes images; what one may be is the operation's rule.
var imagesField = schema.ListOf(schema.Any()).Max(operations.MaxImages)

// imageURLs are the images of a message: texts or {"url": text}.
func imageURLs(images []schema.Value) []string {
	urls := make([]string, len(images))
	for i, image := range images {
		if inner := image.Get("url"); inner.Defined() {
			image = inner
		}
		urls[i] = image.Text()
	}
	return urls
}

func (s *server) messageRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodPost, Path: "/api/sessions/:sessionId/messages", Operation: operations.Send,
			Body: sendMessageBody, Mapped: true, Once: true, Again: true, Handle: s.sendMessage},
		{Method: http.MethodPost, Path: "/api/sessions/:sessionId/turns/:turnId/retry", Operation: operations.Retry,
			Mapped: true, Once: true, Again: true, Handle: s.retry},
		{Method: http.MethodPost, Path: "/api/sessions/:sessionId/interrupt", Operation: operations.Interrupt,
			Body: interruptBody, Handle: s.interrupt},
	}
}

type turnBody struct {
	Status    string `json:"status"`
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
}

func (s *server) sendMessage(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	return s.beginTurn(ctx, in, func() (string, error) { return s.Operations.Send(ctx, in.SessionID(), messageOf(in)) })
}

func (s *server) retry(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	return s.beginTurn(ctx, in, func() (string, error) {
		return s.Operations.Retry(ctx, in.SessionID(), in.Params["turnId"], in.Key)
	})
}

// beginTurn answers with the turn that begin makes, or the one that the same request made before.
func (s *server) beginTurn(ctx context.Context, in *rest.Input, begin func() (string, error)) (rest.Reply, error) {
	turnID, err := s.made(ctx, in)
	found := turnID != ""
	if err == nil && !found {
		turnID, err = begin()
	}
	if err != nil {
		return rest.Reply{}, err
	}
	noteTurn(ctx, turnID)
	return rest.Reply{Status: http.StatusAccepted, Body: turnBody{"accepted", in.SessionID(), turnID}, Replayed: found}, nil
}

func (s *server) interrupt(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	turnID, err := s.Operations.Interrupt(ctx, in.SessionID(), in.Body.Get("turnId").Text())
	if err != nil {
		return rest.Reply{}, err
	}
	noteTurn(ctx, turnID)
	return rest.OK(turnBody{"ok", in.SessionID(), turnID})
}
