package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/platform/cluster/forward"
	"harness/internal/services/session"
)

// Owners forwards requests to other nodes.
type Owners interface {
	// Ask forwards a request and its body to a node. forward.ErrClientsTurn, *forward.UnreachableError,
	// *forward.LostAnswerError.
	Ask(r *http.Request, owner, body string) (*http.Response, error)
	// Takers returns the nodes that create sessions when this node does not.
	Takers(ctx context.Context) ([]string, error)
}

// errAsked reports that the owner handled the request and its response was sent.
var errAsked = errors.New("the owner handled the request")

// askOwner forwards a request to the right node and sends its response. It then returns errAsked. Otherwise it
// returns that node's error or the original one.
func (s *server) askOwner(w http.ResponseWriter, r *http.Request, in *rest.Input, outcome error) error {
	if s.Owners == nil || outcome == nil {
		return outcome
	}
	err := forward.Hand(r.Context(), outcome, s.Owners.Takers, func(node string) error {
		return forward.Relay(w, r, s.Owners.Ask, node, in.Sent)
	})
	if errors.Is(err, forward.ErrClientsTurn) {
		return outcome
	}
	if err != nil {
		return err
	}
	return errAsked
}

// elsewhere returns *session.NotOwnerError or *session.ElsewhereError for a request that another node handles. It
// runs before this node claims the key, because the other node claims it.
func (s *server) elsewhere(ctx context.Context, rt *rest.Route, in *rest.Input) error {
	if s.Owners != nil && rt.Begins {
		refused := s.Operations.CheckNew()
		if refused == nil {
			return nil
		}
		nodes, err := s.Owners.Takers(ctx)
		if err != nil || len(nodes) > 0 {
			return cmp.Or(err, refused)
		}
		return nil // this node returns what the key already created
	}
	if s.Owners == nil || rt.Operation == "" {
		return nil
	}
	refused := s.Operations.Check(ctx, rt.Operation, in.SessionID())
	if errors.As(refused, new(*session.NotOwnerError)) || errors.As(refused, new(*session.ElsewhereError)) {
		return refused
	}
	return nil // the handler reports every other error
}
