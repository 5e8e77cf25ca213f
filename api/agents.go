package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Agents knows what agents may touch.
type Agents interface {
	// AgentScope is what the agent of a session may touch while its job runs; false when it has none.
	AgentScope(ctx context.Context, sessionID string) (AgentScope, bool, error)
}

// AgentScope is the session and the turn that a job is about.
type AgentScope struct{ SessionID, TurnID string }

// agentError refuses what an agent may not do.
type agentError struct{ reason string }

func (e *agentError) Error() string {
	return "this is a request of an agent: " + e.reason
}

// checkAgent refuses an agent's request beyond its job. Others pass.
func (s *server) checkAgent(r *http.Request, rt *rest.Route, params map[string]string) error {
	principal, _ := auth.PrincipalFrom(r.Context())
	if principal.Role != auth.RoleAgent || rt.Agent == rest.AgentAnything {
		return nil
	}
	err := s.agentMay(r.Context(), principal.Session, rt.Agent, params)
	var forbidden *agentError
	if errors.As(err, &forbidden) {
		telemetry.Log(r.Context()).Warn().Str("agent_session", principal.Session).Str("route", rt.Method+" "+rt.Path).
			Err(err).
			Msg("refused a request of an agent")
	}
	return err
}

func (s *server) agentMay(ctx context.Context, own string, rule rest.AgentRule, params map[string]string) error {
	if rule == rest.AgentNothing {
		return &agentError{"an agent may not do this; call it from outside of a session"}
	}
	if own == "" || s.Agents == nil {
		return &agentError{"it is not known which session it works for, and only the agent of a running job may do this"}
	}
	scope, found, err := s.Agents.AgentScope(ctx, own)
	if err != nil {
		return err
	}
	if !found {
		return &agentError{"its session runs no job, and only the agent of a running job may do this"}
	}
	sessionID := params["sessionId"]
	if rule == rest.AgentApproval {
		sessionID, err = s.Operations.SessionOfRequest(ctx, params["approvalId"], runtime.RequestApproval)
		if err != nil && !errors.Is(err, session.ErrRequestNotFound) {
			return err
		}
	}
	if sessionID != scope.SessionID {
		return &agentError{"its job is about another session"}
	}
	if rule == rest.AgentTurn && params["turnId"] != scope.TurnID {
		return &agentError{"its job is about another turn"}
	}
	return nil
}
