package door

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

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

// AskOwner forwards a call that ended with outcome to the node that can carry it out, as a POST of body to path. answer
// receives the response. forward.ErrClientsTurn means that no other node can, and that outcome stands.
func AskOwner(ctx context.Context, owners Owners, outcome error, path string, body []byte, answer any) error {
	return forward.Hand(ctx, outcome, owners.Takers, func(node string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, nil)
		if err != nil {
			return fmt.Errorf("ask node %s: %w", node, err)
		}
		request.Header.Set("Content-Type", "application/json")
		reply, err := owners.Ask(request, node, string(body))
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
}
