package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"harness/internal/lib/javascript"
	"harness/internal/platform/cluster/forward"
)

// Owners forwards calls to the nodes that own sessions.
type Owners interface {
	// Ask forwards a request and its body to a node. forward.ErrClientsTurn, *forward.UnreachableError,
	// *forward.LostAnswerError.
	Ask(r *http.Request, owner, body string) (*http.Response, error)
	// Takers returns the nodes that create sessions when this node does not.
	Takers(ctx context.Context) ([]string, error)
}

// maxAnswer limits how many bytes of an owner's response are read.
const maxAnswer = 64 << 20

// Forwards reports whether other nodes carry out what this one cannot.
func (o *Operations) Forwards() bool { return o.owners != nil }

// Ask forwards a call that ended with outcome to the node that can carry it out, as a POST of in to path. answer receives
// the response. asked is false if no other node can; then outcome stands.
func (o *Operations) Ask(ctx context.Context, outcome error, path string, in, answer any) (asked bool, err error) {
	if o.owners == nil {
		return false, nil
	}
	body, err := javascript.Encode(in) // it escapes nothing, so the owner accepts every value that this node accepts
	if err != nil {
		return true, err
	}
	err = forward.Hand(ctx, outcome, o.owners.Takers, func(node string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
		if err != nil {
			return fmt.Errorf("ask node %s: %w", node, err)
		}
		request.Header.Set("Content-Type", "application/json")
		reply, err := o.owners.Ask(request, node, string(body))
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		if reply.StatusCode != http.StatusOK {
			return &forward.LostAnswerError{NodeID: node, Cause: fmt.Errorf("it responded with %s", reply.Status)}
		}
		if err := json.NewDecoder(http.MaxBytesReader(nil, reply.Body, maxAnswer)).Decode(answer); err != nil {
			return &forward.LostAnswerError{NodeID: node, Cause: err}
		}
		return nil
	})
	if errors.Is(err, forward.ErrClientsTurn) {
		return false, nil
	}
	return true, err
}
