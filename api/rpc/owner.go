package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"harness/api/rpc/wire"
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

// askOwner forwards a call for another node's session. asked is false if it did not forward the call; it then returns
// outcome unchanged.
func (c *call) askOwner(ctx context.Context, outcome error) (result any, failed *wire.Error, asked bool) {
	if c.server.opts.Owners == nil || c.method.scope == scopeSocket || c.method.socket {
		return nil, nil, false
	}
	var answer answered
	err := forward.Hand(ctx, outcome, c.server.opts.Owners.Takers, func(node string) (err error) {
		answer, err = c.ask(ctx, node)
		return err
	})
	switch {
	case errors.Is(err, forward.ErrClientsTurn):
		return nil, nil, false
	case errors.As(err, new(*forward.UnreachableError)), errors.As(err, new(*forward.LostAnswerError)):
		return nil, c.worded(ctx, err), true
	case err != nil:
		return nil, c.failed(ctx, err), true
	case answer.Error != nil:
		failed := &wire.Error{Code: answer.Error.Code, Message: answer.Error.Message}
		if len(answer.Error.Data) > 0 {
			failed.Data = answer.Error.Data
		}
		return nil, failed, true
	}
	return answer.Result, nil, true
}

// answered is an owner's response.
type answered struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (c *call) ask(ctx context.Context, owner string) (answer answered, err error) {
	body, err := javascript.Encode(struct { // the encoder escapes nothing, so the owner accepts every value that this node accepts
		Version string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", 1, c.request.Method, c.request.Params})
	if err != nil {
		return answer, fmt.Errorf("ask node %s: %w", owner, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "/rpc", nil)
	if err != nil {
		return answer, fmt.Errorf("ask node %s: %w", owner, err)
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := c.server.opts.Owners.Ask(request, owner, string(body))
	if err != nil {
		return answer, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return answer, &forward.LostAnswerError{NodeID: owner, Cause: fmt.Errorf("it responded with %s", reply.Status)}
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, reply.Body, maxAnswer)).Decode(&answer); err != nil {
		return answer, &forward.LostAnswerError{NodeID: owner, Cause: err}
	}
	return answer, nil
}
