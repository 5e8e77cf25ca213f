package sessions

import (
	"context"

	"harness/api/rest"
	"harness/internal/services/session"
)

// backgroundBody is the background work of a session.
type backgroundBody struct {
	Status     string                   `json:"status"`
	SessionID  string                   `json:"sessionId"`
	Background []session.BackgroundTask `json:"background"`
}

func viewBackground(in *rest.Input, tasks []session.BackgroundTask, err error) (rest.Reply, error) {
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(backgroundBody{"ok", in.SessionID(), append([]session.BackgroundTask{}, tasks...)})
}

func (s *threads) background(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	tasks, err := s.turns.Background(ctx, in.SessionID())
	return viewBackground(in, tasks, err)
}

// endBackground ends one task and returns the tasks that still run.
func (s *threads) endBackground(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	left, err := s.turns.EndBackground(ctx, in.SessionID(), in.Params["taskId"])
	return viewBackground(in, left, err)
}
