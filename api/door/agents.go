package door

import (
	"context"

	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/cluster/forward"
	"harness/internal/services/session"
)

// Turns reads which turn of a session runs.
type Turns interface {
	// RunningTurn returns the running turn of a session, "" for none.
	RunningTurn(ctx context.Context, sessionID string) (turnID string, err error)
}

func isAgent(ctx context.Context) bool {
	principal, _ := auth.PrincipalFrom(ctx)
	return principal.Role == auth.RoleAgent
}

// withAgent lets an agent ask the nodes of sessions. Without the right to write it asks none.
func (o *Operations) withAgent(ctx context.Context) (context.Context, error) {
	if o.agents == nil || !isAgent(ctx) {
		return ctx, nil
	}
	principal, _ := auth.PrincipalFrom(ctx)
	turn, err := o.agents.RunningTurn(ctx, principal.Session)
	return forward.WithAgent(ctx, forward.Agent{Session: principal.Session, Turn: turn, Write: true}), err
}

// mayAsk reports whether a caller at another node may ask for an operation.
func mayAsk(ctx context.Context, name operations.Operation) bool {
	principal, _ := auth.PrincipalFrom(ctx)
	switch name {
	case nameModels:
		return (&Caller{Principal: principal}).MayCall(RoleViewer)
	case operations.Deliver:
		return isAgent(ctx)
	case operations.Interrupt, operations.Archive, operations.Rename:
		return isAgent(ctx) || (&Caller{Principal: principal}).MayCall(RoleOperator)
	}
	return (&Caller{Principal: principal}).MayCall(RoleOperator)
}

// checkVisitor checks that an agent of a session of another node may do what it asks. The rules are those of that node,
// which may be wrong: it must own the session, and the turn that it named must run.
func (o *Operations) checkVisitor(ctx context.Context, in request) error {
	if !isAgent(ctx) {
		return nil
	}
	from, _ := forward.CameFrom(ctx)
	if from.Agent == nil || !from.Agent.Write || o.agents == nil {
		return &operations.RemoteError{Code: operations.CodeMethodNotSupported,
			Message: "a node of this session or of the other one lets agents write to no session (HARNESS_CONTROL_AGENTS)"}
	}
	own := from.Agent.Session
	if err := o.CheckVisitor(ctx, own, from.Node); err != nil {
		return err
	}
	if from.Agent.Turn != "" {
		running, err := o.agents.RunningTurn(ctx, own)
		if err != nil {
			return err
		}
		if running != from.Agent.Turn {
			return session.ErrWrongTurn
		}
	}
	if in.Name == operations.Deliver { // SendMail checks the receiver
		return nil
	}
	return o.CheckOwn(ctx, own, in.Session)
}
