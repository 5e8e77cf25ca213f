package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"harness/internal/platform/cluster/forward"
)

// Owners forwards requests to the nodes that own sessions.
type Owners interface {
	// Ask forwards a request and its body to a node. forward.ErrClientsTurn, *forward.UnreachableError,
	// *forward.LostAnswerError.
	Ask(r *http.Request, owner, body string) (*http.Response, error)
	// Takers returns the nodes that create sessions when this node does not.
	Takers(ctx context.Context) ([]string, error)
}

// handle executes a request here, or on the node that owns its session.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, rt route) error {
	if s.opts.Owners == nil {
		return rt.handle(s, w, r)
	}
	body, err := s.readAll(r)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(strings.NewReader(body))
	var outcome error
	if rt.ofRuntimes {
		outcome = s.opts.Operations.CheckRuns()
	}
	if outcome == nil {
		outcome = rt.handle(s, w, r)
	}
	if outcome == nil {
		return nil
	}
	err = forward.Hand(r.Context(), outcome, s.opts.Owners.Takers, func(node string) error {
		return forward.Relay(w, r, s.opts.Owners.Ask, node, body)
	})
	if errors.Is(err, forward.ErrClientsTurn) {
		return outcome
	}
	return err
}
