package api

import (
	"context"
	"errors"
	"net/http"

	"harness/auth"
	"harness/runtime"
	"harness/session"
	"harness/telemetry"
)

// Agents tells what agents may touch.
type Agents interface {
	// AgentScope is what the agent of a session may touch while its job runs; false when it has none.
	AgentScope(ctx context.Context, sessionID string) (AgentScope, bool, error)
}

// AgentScope is the session and the turn that a job is about.
type AgentScope struct{ SessionID, TurnID string }

// agentRule is what an agent's request may do on a route.
type agentRule uint8

const (
	agentNothing agentRule = iota
	// agentAnything is for what tells nobody's secrets.
	agentAnything
	// agentSession is for routes about the session of the agent's job, agentTurn about the job's turn, agentApproval about an approval of that
	// session.
	agentSession
	agentTurn
	agentApproval
)

// words are the rule as documented.
func (r agentRule) words() string {
	return map[agentRule]string{
		agentAnything: "always", agentSession: "the session of its running job", agentTurn: "the turn of its running job",
		agentApproval: "approvals of the session of its running job",
	}[r]
}

// agentError refuses what an agent may not do.
type agentError struct{ reason string }

func (e *agentError) Error() string {
	return "this request comes from a process that a runtime started: " + e.reason
}

// checkAgent refuses an agent's request beyond its job. Others pass.
func (s *server) checkAgent(r *http.Request, rt *route, params map[string]string) error {
	principal, _ := auth.PrincipalFrom(r.Context())
	if principal.Role != auth.RoleAgent || rt.agent == agentAnything {
		return nil
	}
	err := s.agentMay(r.Context(), principal.Session, rt.agent, params)
	var forbidden *agentError
	if errors.As(err, &forbidden) {
		telemetry.Log(r.Context()).Warn().Str("agent_session", principal.Session).Str("route", rt.method+" "+rt.path).Err(err).
			Msg("refused a request from inside of a runtime")
	}
	return err
}

func (s *server) agentMay(ctx context.Context, own string, rule agentRule, params map[string]string) error {
	if rule == agentNothing {
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
	if rule == agentApproval {
		sessionID, err = s.Sessions.SessionOfRequest(ctx, params["approvalId"], runtime.RequestApproval)
		if err != nil && !errors.Is(err, session.ErrRequestNotFound) {
			return err
		}
	}
	if sessionID != scope.SessionID {
		return &agentError{"its job is about another session"}
	}
	if rule == agentTurn && params["turnId"] != scope.TurnID {
		return &agentError{"its job is about another turn"}
	}
	return nil
}
