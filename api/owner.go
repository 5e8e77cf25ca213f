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

// Owners asks other nodes for what they own.
type Owners interface {
	// Ask hands a request and its body to a node. forward.ErrClientsTurn, *forward.UnreachableError,
	// *forward.LostAnswerError.
	Ask(r *http.Request, owner, body string) (*http.Response, error)
	// Takers are the nodes that make sessions when this one makes none.
	Takers(ctx context.Context) ([]string, error)
}

// errAsked says that the owner was asked, and its answer given.
var errAsked = errors.New("the owner has answered")

// askOwner has a request done by the node it is for, and gives its answer: errAsked. Every other outcome is returned, as
// what went wrong there, or as it is.
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

// elsewhere refuses with *session.NotOwnerError or *session.ElsewhereError what another node is asked for, before its key is
// claimed here: the other one claims it.
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
		return nil // what was made with this key already is answered here
	}
	if s.Owners == nil || rt.Operation == "" {
		return nil
	}
	refused := s.Operations.Check(ctx, rt.Operation, in.SessionID())
	if errors.As(refused, new(*session.NotOwnerError)) || errors.As(refused, new(*session.ElsewhereError)) {
		return refused
	}
	return nil // whatever else it is, the handler says it
}
