package api

import (
	"context"

	"harness/api/rest"
	"harness/api/schema"
)

var markReadBody = schema.Struct(rest.Required("messageId", schema.Text{}.Min(1)))

// readView is how far who asks has read a session, null for not at all.
type readView struct {
	Status    string  `json:"status"`
	SessionID string  `json:"sessionId"`
	ReadTo    *string `json:"readTo"`
}

// markRead notes what who asks has read; what was read already changes nothing.
func (s *server) markRead(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	message := in.Body.Get("messageId").Text()
	further, err := s.Operations.MarkRead(ctx, in.Actor, in.SessionID(), message)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(readView{outcome(further), in.SessionID(), &message})
}

func (s *server) markUnread(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if err := s.Operations.MarkUnread(ctx, in.Actor, in.SessionID()); err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(readView{Status: "ok", SessionID: in.SessionID()})
}
