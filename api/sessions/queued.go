package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var (
	waitBody       = messageBody()
	editQueuedBody = schema.Struct(rest.Required("text", schema.Text{}.Trim().Min(1)))
	moveQueuedBody = schema.Optional(schema.Struct(rest.Optional("before", rest.Name)))
)

func (s *messages) queuedRoutes() []rest.Route {
	const all = "/api/sessions/:sessionId/queue"
	return []rest.Route{
		{Method: http.MethodGet, Path: all, Operation: operations.Read, Handle: s.listQueued},
		{Method: http.MethodPost, Path: all, Operation: operations.Send, Body: waitBody, Once: true, Again: true, Handle: s.wait},
		{Method: http.MethodPatch, Path: all + "/:messageId", Operation: operations.Send, Body: editQueuedBody,
			Handle: s.editQueued},
		{Method: http.MethodPost, Path: all + "/:messageId/move", Operation: operations.Send, Body: moveQueuedBody,
			Handle: s.moveQueued},
		{Method: http.MethodPost, Path: all + "/:messageId/send", Operation: operations.Send, Handle: s.sendQueued},
		{Method: http.MethodDelete, Path: all + "/:messageId", Operation: operations.Send, Handle: s.dropQueued},
	}
}

// queuedBody has the queued messages of a session; ID is the message that was added.
type queuedBody struct {
	Status    string                  `json:"status"`
	SessionID string                  `json:"sessionId"`
	ID        string                  `json:"id,omitempty"`
	Data      []session.QueuedMessage `json:"data"`
}

func queuedReply(in *rest.Input, now []session.QueuedMessage, err error) (rest.Reply, error) {
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(queuedBody{Status: "ok", SessionID: in.SessionID(), Data: append([]session.QueuedMessage{}, now...)})
}

func (s *messages) listQueued(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, err := s.queue.Queued(ctx, in.SessionID())
	return queuedReply(in, now, err)
}

func (s *messages) wait(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	id, err := s.made(ctx, in)
	found := id != ""
	var now []session.QueuedMessage
	switch {
	case found:
		now, err = s.queue.Queued(ctx, in.SessionID())
	case err == nil:
		id, now, err = s.queue.Enqueue(ctx, in.SessionID(), messageOf(in))
	}
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.Reply{Status: http.StatusAccepted,
		Body:     queuedBody{"accepted", in.SessionID(), id, append([]session.QueuedMessage{}, now...)},
		Replayed: found}, nil
}

func (s *messages) editQueued(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, err := s.queue.EditQueued(ctx, in.SessionID(), in.Params["messageId"], in.Body.Get("text").Text())
	return queuedReply(in, now, err)
}

func (s *messages) moveQueued(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, err := s.queue.MoveQueued(ctx, in.SessionID(), in.Params["messageId"], in.Body.Get("before").Text())
	return queuedReply(in, now, err)
}

func (s *messages) sendQueued(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, err := s.queue.SendQueued(ctx, in.SessionID(), in.Params["messageId"])
	return queuedReply(in, now, err)
}

func (s *messages) dropQueued(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	now, err := s.queue.DropQueued(ctx, in.SessionID(), in.Params["messageId"])
	return queuedReply(in, now, err)
}
