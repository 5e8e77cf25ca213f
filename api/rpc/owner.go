package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"harness/api/rpc/wire"
	"harness/internal/platform/cluster/forward"
)

// askOwner forwards a call for another node's session. asked is false if it did not forward the call; it then returns
// outcome unchanged.
func (c *call) askOwner(ctx context.Context, outcome error) (result any, failed *wire.Error, asked bool) {
	if c.method.scope == scopeSocket || c.method.socket {
		return nil, nil, false
	}
	var answer answered
	asked, err := c.server.opts.Operations.Ask(ctx, outcome, "/rpc", struct {
		Version string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", 1, c.request.Method, c.request.Params}, &answer)
	switch {
	case !asked:
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
