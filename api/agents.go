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

// Agents reports which objects an agent may access.
type Agents interface {
	// AgentScope returns what a session's agent may access while its job runs, or false for nothing.
	AgentScope(ctx context.Context, sessionID string) (AgentScope, bool, error)
}

// AgentScope is the session and the turn of a job.
type AgentScope struct{ SessionID, TurnID string }

// agentError refuses a request that an agent may not send.
type agentError struct{ reason string }

func (e *agentError) Error() string {
	return "this request comes from an agent: " + e.reason
}

// checkAgent refuses an agent's request that is outside its job. It allows every other caller.
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
		return &agentError{"an agent may not do this; call it from outside a session"}
	}
	if own == "" || s.Agents == nil {
		return &agentError{"its session is unknown, and only the agent of a running job may do this"}
	}
	scope, found, err := s.Agents.AgentScope(ctx, own)
	if err != nil {
		return err
	}
	if !found {
		return &agentError{"its session has no running job, and only the agent of a running job may do this"}
	}
	sessionID := params["sessionId"]
	if rule == rest.AgentApproval {
		sessionID, err = s.Operations.SessionOfRequest(ctx, params["approvalId"], runtime.RequestApproval)
		if err != nil && !errors.Is(err, session.ErrRequestNotFound) {
			return err
		}
	}
	if sessionID != scope.SessionID {
		return &agentError{"its job belongs to another session"}
	}
	if rule == rest.AgentTurn && params["turnId"] != scope.TurnID {
		return &agentError{"its job belongs to another turn"}
	}
	return nil
}
