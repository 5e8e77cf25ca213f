package rpc

import (
	"context"

	"harness/internal/services/session"
)

// backgroundResult is the background work of a session.
type backgroundResult struct {
	SessionID  string                   `json:"session_id"`
	AgentType  string                   `json:"agent_type"`
	Background []session.BackgroundTask `json:"background"`
}

func (c *call) backgroundResult(tasks []session.BackgroundTask) backgroundResult {
	return backgroundResult{c.session.ID, c.agent, append([]session.BackgroundTask{}, tasks...)}
}

func background(ctx context.Context, c *call) (any, error) {
	tasks, err := c.ops().Background(ctx, c.session.ID)
	if err != nil {
		return nil, err
	}
	return c.backgroundResult(tasks), nil
}

// stopBackground ends one background task. If the call names none, it ends all tasks of the session.
func stopBackground(ctx context.Context, c *call) (any, error) {
	id := c.text("id")
	if id == "" {
		if _, err := c.ops().CleanTerminals(ctx, c.session.ID); err != nil {
			return nil, err
		}
		return background(ctx, c)
	}
	left, err := c.ops().EndBackground(ctx, c.session.ID, id)
	if err != nil {
		return nil, err
	}
	return c.backgroundResult(left), nil
}
