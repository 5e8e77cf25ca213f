package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/services/session"
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

// readFailures are about entries that are not there.
func readFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	if !errors.Is(err, session.ErrNoEntry) {
		return failure{}, false
	}
	return failure{status: http.StatusNotFound, body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
		MessageID string `json:"messageId"`
	}{"not_found", in.SessionID(), in.Body.Get("messageId").Text()}}, true
}
