package door

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
)

// OperationsPath is the path of Handler at the port for other nodes.
const OperationsPath = "/door/operations"

// Handler serves the operations of this node to others, under the identity of their callers. values, if not nil, adds
// values to the context of an operation.
func (o *Operations) Handler(values func(context.Context) context.Context) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		text, err := io.ReadAll(r.Body) // the port for nodes limits it
		var in request
		if err == nil {
			err = json.Unmarshal(text, &in)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if !mayAsk(ctx, in.Name) {
			http.Error(w, "the caller may not do this", http.StatusForbidden) // the other node checked it, too
			return
		}
		if values != nil {
			ctx = values(ctx)
		}
		var answer struct {
			Result any                     `json:",omitempty"`
			Failed *operations.RemoteError `json:",omitempty"`
		}
		if err = o.checkVisitor(ctx, in); err == nil {
			answer.Result, err = carryOut(ctx, o.Service, in)
		}
		if err != nil {
			answer.Result, answer.Failed = nil, operations.Remote(err)
			if answer.Failed.Code == operations.CodeInternal && ctx.Err() == nil {
				telemetry.Log(ctx).Error().Err(err).Str("operation", string(in.Name)).Msg("an operation for another node failed")
			}
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(javascript.MustEncode(answer)) // the node may have disconnected
	})
}
