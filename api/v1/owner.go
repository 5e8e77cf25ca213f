package v1

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"harness/forward"
	"harness/session"
	"harness/telemetry"
)

// Owners asks the nodes that own sessions.
type Owners interface {
	// Ask hands a request and its body to a node. forward.ErrClientsTurn, *forward.UnreachableError,
	// *forward.LostAnswerError.
	Ask(r *http.Request, owner, body string) (*http.Response, error)
}

// handle does what a request asks for, here or at the node that owns its session.
func (s *Server) handle(w http.ResponseWriter, r *http.Request, rt route) error {
	if s.opts.Owners == nil {
		return rt.handle(s, w, r)
	}
	var read bytes.Buffer
	given := http.MaxBytesReader(w, r.Body, maxBody)
	r.Body = io.NopCloser(io.TeeReader(given, &read))
	outcome := rt.handle(s, w, r)
	var elsewhere *session.NotOwnerError
	if !errors.As(outcome, &elsewhere) {
		return outcome
	}
	if _, err := io.Copy(&read, given); err != nil { // what the handler did not want to know
		return invalid("the body could not be read")
	}
	r.Header.Set("X-Request-Id", w.Header().Get("X-Request-Id"))
	answer, err := s.opts.Owners.Ask(r, elsewhere.Owner, read.String())
	if errors.Is(err, forward.ErrClientsTurn) {
		return outcome
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := forward.Copy(w, answer); err != nil {
		telemetry.Log(r.Context()).Warn().Err(err).Str("node", elsewhere.Owner).Msg("the answer of the owner broke off")
		panic(http.ErrAbortHandler) // half an answer is out
	}
	return nil
}

// ownerRefusals are owners that could not be asked, or not heard.
func ownerRefusals(err error, _ *http.Request) *refusal {
	var unreachable *forward.UnreachableError
	var lost *forward.LostAnswerError
	switch {
	case errors.As(err, &unreachable):
		return &refusal{http.StatusServiceUnavailable, "owner_unreachable", unreachable.Error(), members{"node_id": unreachable.NodeID}}
	case errors.As(err, &lost):
		return &refusal{http.StatusGatewayTimeout, "owner_answer_lost", lost.Error(), members{"node_id": lost.NodeID}}
	}
	return nil
}
