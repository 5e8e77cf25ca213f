package forward

import (
	"context"

	"harness/internal/platform/auth"
)

// Agent is the session whose agent asks through the node that owns that session. Who accepts it checks, as that node
// did, what the session may do.
type Agent struct {
	Session string `json:"session"`
	// Turn is the session's running turn, "" for none.
	Turn string `json:"turn,omitempty"`
	// Write is set if that node lets agents write to sessions, not only read them.
	Write bool `json:"write,omitempty"`
}

func (a *Agent) principal() auth.Principal { return auth.AgentPrincipal(a.Session) }

type agentKey struct{}

// WithAgent lets the requests of a context be sent on behalf of an agent, which the context's principal must be.
func WithAgent(ctx context.Context, agent Agent) context.Context {
	return context.WithValue(ctx, agentKey{}, agent)
}

// agentOf returns the agent on whose behalf a context's requests are sent, nil if its principal is another one.
func agentOf(ctx context.Context, who auth.Principal) *Agent {
	agent, is := ctx.Value(agentKey{}).(Agent)
	if !is || agent.Session == "" || agent.Session != who.Session {
		return nil
	}
	return &agent
}

// From is the origin of a request that another node sent.
type From struct {
	Node string
	// Agent is nil for people.
	Agent *Agent
}

// cameKey marks the context of a request that came from another node, which is not forwarded again.
type cameKey struct{}

// CameFrom returns the origin of a request; false if no other node sent it, or after Anew.
func CameFrom(ctx context.Context) (From, bool) {
	from, is := ctx.Value(cameKey{}).(From)
	return from, is
}

// Anew returns the context of a request of its own, which is forwarded even if ctx is of one that another node sent. A
// chain of such requests must end.
func Anew(ctx context.Context) context.Context { return context.WithValue(ctx, cameKey{}, nil) }
