package appserver

import (
	"encoding/json"
	"slices"

	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
)

// shownItems are the types of items that clients of every version can decode. One unknown item refuses a whole page
// of history.
var shownItems = []string{wire.ItemUserMessage, wire.ItemAgentMessage, wire.ItemReasoning, wire.ItemPlan, wire.ItemCommand,
	wire.ItemFileChange, wire.ItemToolCall, wire.ItemClientTool, "webSearch", "imageView", "enteredReviewMode", "exitedReviewMode",
	"contextCompaction"}

// completeItem returns an item as clients know it; false for one that not every client can decode.
func completeItem(raw json.RawMessage) (json.RawMessage, bool) {
	if !slices.Contains(shownItems, wire.Text(wire.Members(raw, "type")[0])) {
		return nil, false
	}
	return wire.Complete(raw), true
}

// complete returns the request as clients know it.
func (r *asked) complete(cwd string, forSession bool) (method string, params json.RawMessage) {
	method, params = wire.Pending{Method: r.method, Params: r.params, CreatedAt: r.at, Cwd: cwd, ForSession: forSession}.Native()
	switch given := jsonobject.Parse(params); {
	case r.questions != nil && method == wire.MethodAskUser:
		params = given.Set("questions", r.questions).Encode()
	case method == wire.MethodApproveCommand && wire.Known(given.Get("kind")) == nil:
		params = given.Set("kind", json.RawMessage(`"command"`)).Encode()
	}
	return method, params
}
