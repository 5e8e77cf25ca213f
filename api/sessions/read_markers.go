package sessions

import (
	"context"

	"harness/api/rest"
	"harness/api/schema"
)

var markReadBody = schema.Struct(rest.Required("messageId", schema.Text{}.Min(1)))

// readView is the caller's read marker in a session, null if the caller read nothing.
type readView struct {
	Status    string  `json:"status"`
	SessionID string  `json:"sessionId"`
	ReadTo    *string `json:"readTo"`
}

// markRead records how far the caller has read. It never moves the marker back.
func (s *sessions) markRead(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	message := in.Body.Get("messageId").Text()
	further, err := s.reader.MarkRead(ctx, in.Actor, in.SessionID(), message)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(readView{outcome(further), in.SessionID(), &message})
}

func (s *sessions) markUnread(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	if err := s.reader.MarkUnread(ctx, in.Actor, in.SessionID()); err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(readView{Status: "ok", SessionID: in.SessionID()})
}
