package main

import (
	"context"
	"encoding/json"

	"harness/api"
)

// agentScopes implements api.Agents: what agents may do.
type agentScopes struct{ *Server }

// AgentScope implements api.Agents.
func (a agentScopes) AgentScope(ctx context.Context, sessionID string) (api.AgentScope, bool, error) {
	if a.queue.Queue == nil {
		return api.AgentScope{}, false, nil
	}
	job, found, err := a.queue.RunningIn(ctx, sessionID)
	if err != nil || !found || job.SourceSessionID == nil {
		return api.AgentScope{}, false, err
	}
	// The agent of a session that moved to another node is the session's no more.
	stored, err := a.sessions.Lookup(ctx, sessionID)
	if err == nil {
		err = a.sessions.CheckOwner(stored)
	}
	if err != nil {
		return api.AgentScope{}, false, err
	}
	var payload struct {
		TurnID string `json:"turnId"`
	}
	if err := json.Unmarshal(job.Payload, &payload); err != nil {
		return api.AgentScope{}, false, err
	}
	return api.AgentScope{SessionID: *job.SourceSessionID, TurnID: payload.TurnID}, true, nil
}
