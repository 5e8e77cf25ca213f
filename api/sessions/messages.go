package sessions

import (
	"context"
	"errors"
	"net/http"

	"harness/api/idempotency"
	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var (
	sendMessageBody = messageBody(rest.Optional("dynamicTools", dynamicToolsField))
	interruptBody   = schema.Optional(schema.Struct(rest.Optional("turnId", rest.Name),
		rest.Optional("keepBackground", schema.Boolean())))
)

// messageBody is a message with its options; messageOf reads it.
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

// imagesField accepts images; the operation validates each.
var imagesField = schema.ListOf(schema.Any()).Max(operations.MaxImages)

// imageURLs returns the images of a message: strings or {"url": text}.
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

func (s *messages) messageRoutes() []rest.Route {
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
	// MessageID and Position are set for a message queued behind the running turn. Its TurnID is "".
	MessageID string `json:"messageId,omitempty"`
	Position  int    `json:"position,omitempty"`
}

func (s *messages) sendMessage(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	return s.beginTurn(ctx, in, func() (session.Sent, error) { return s.turns.Send(ctx, in.SessionID(), messageOf(in)) })
}

func (s *messages) retry(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	return s.beginTurn(ctx, in, func() (session.Sent, error) {
		turnID, err := s.turns.Retry(ctx, in.SessionID(), in.Params["turnId"], in.Key)
		return session.Sent{TurnID: turnID}, err
	})
}

// beginTurn returns the turn that begin starts, or the turn that the same request started before.
func (s *messages) beginTurn(ctx context.Context, in *rest.Input, begin func() (session.Sent, error)) (rest.Reply, error) {
	made, err := s.made(ctx, in)
	found := made != ""
	sent := session.Sent{TurnID: made}
	switch {
	case found:
		var queue []session.QueuedMessage
		queue, err = s.queue.Queued(ctx, in.SessionID())
		if at := session.PositionOf(queue, made); at > 0 {
			sent = session.Sent{QueuedID: made, Position: at}
		}
	case err == nil:
		sent, err = begin()
	}
	if err != nil {
		return rest.Reply{}, err
	}
	if sent.QueuedID != "" {
		return rest.Reply{Status: http.StatusAccepted, Replayed: found, Body: turnBody{
			Status: "queued", SessionID: in.SessionID(), MessageID: sent.QueuedID, Position: sent.Position}}, nil
	}
	rest.NoteTurn(ctx, sent.TurnID)
	return rest.Reply{Status: http.StatusAccepted, Replayed: found, Body: turnBody{
		Status: "accepted", SessionID: in.SessionID(), TurnID: sent.TurnID}}, nil
}

func (s *messages) interrupt(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	stopped, err := s.turns.StopTurn(ctx, in.SessionID(), in.Body.Get("turnId").Text(), in.Body.Get("keepBackground").True())
	if err != nil {
		return rest.Reply{}, err
	}
	rest.NoteTurn(ctx, stopped.TurnID)
	return rest.OK(struct {
		turnBody
		Ended  []session.BackgroundTask `json:"endedBackground,omitempty"`
		GoesOn []session.BackgroundTask `json:"background,omitempty"`
	}{turnBody{Status: "ok", SessionID: in.SessionID(), TurnID: stopped.TurnID}, stopped.Ended, stopped.GoesOn})
}

// made returns the turn that an earlier request with the key started, "" for none. That request's server exited
// before it responded.
func (s *messages) made(ctx context.Context, in *rest.Input) (string, error) {
	if in.Key == "" {
		return "", nil
	}
	made, err := s.turns.TurnForKey(ctx, in.SessionID(), in.Key)
	if errors.Is(err, session.ErrTurnUnknown) {
		err = errors.Join(idempotency.ErrLost, err)
	}
	return made, err
}
