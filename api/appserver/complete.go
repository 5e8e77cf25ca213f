package appserver

import (
	"encoding/json"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
)

// shownItems are the types of items that clients of every version can decode. One unknown item refuses a whole page
// of history.
var shownItems = []string{wire.ItemUserMessage, wire.ItemAgentMessage, wire.ItemReasoning, wire.ItemPlan, wire.ItemCommand,
	wire.ItemFileChange, wire.ItemToolCall, wire.ItemClientTool, "webSearch", "imageView", "enteredReviewMode", "exitedReviewMode",
	"contextCompaction"}

// completeItem adds the members that the protocol requires of an item; false for one that no client can decode.
func completeItem(raw json.RawMessage) (json.RawMessage, bool) {
	item := jsonobject.Parse(raw)
	kind := wire.Text(item.Get("type"))
	if !slices.Contains(shownItems, kind) {
		return nil, false
	}
	missing := func(name string) bool { value := item.Get(name); return len(value) == 0 || string(value) == "null" }
	switch kind {
	case wire.ItemCommand:
		if missing("commandActions") {
			command := item.Get("command")
			if missing("command") {
				command = json.RawMessage(`""`)
			}
			item = item.Set("commandActions", javascript.MustEncode([]object{{"type": "unknown", "command": command}}))
		}
	case wire.ItemToolCall:
		if missing("arguments") {
			item = item.Set("arguments", json.RawMessage("{}"))
		}
	}
	return item.Encode(), true
}

// approvalOptions are the choices of an approval. A client that gets none offers only two.
func approvalOptions(forSession bool) []string {
	if forSession {
		return []string{"accept", "acceptForSession", "decline", "cancel"}
	}
	return []string{"accept", "decline", "cancel"}
}

// completeRequest returns a request as clients know it: a method of the protocol, with the members it requires.
func completeRequest(r asked, cwd string, forSession bool) (method string, params json.RawMessage) {
	in := jsonobject.Parse(r.params)
	set := func(name string, value any) {
		if given := in.Get(name); len(given) == 0 || string(given) == "null" {
			in = in.Set(name, javascript.MustEncode(value))
		}
	}
	method = r.method
	if method == wire.MethodApproveTool {
		method = wire.MethodApproveCommand
		command := wire.Text(in.Get("tool"))
		if arguments := in.Get("arguments"); len(arguments) > 0 && string(arguments) != "null" {
			command += " " + string(arguments)
		}
		in = jsonobject.Object{}.Set("reason", orNull(in.Get("reason"))).Set("command", javascript.MustEncode(command))
		set("cwd", cwd)
		if r.decisions != nil {
			in = in.Set("availableDecisions", r.decisions)
		}
	}
	in = in.Set("threadId", javascript.MustEncode(r.session)).Set("turnId", javascript.MustEncode(r.turn))
	if method != wire.MethodElicit {
		set("itemId", r.item)
		set("startedAtMs", r.at)
	}
	switch method {
	case wire.MethodApproveCommand:
		set("kind", "command")
		set("availableDecisions", approvalOptions(forSession))
	case wire.MethodApproveFileChange:
		in = in.Set("availableDecisions", orList(in.Get("availableDecisions"), approvalOptions(forSession)))
	case wire.MethodAskUser:
		set("isBlocking", true)
		if r.questions != nil {
			in = in.Set("questions", r.questions)
		}
	}
	return method, in.Encode()
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func orList(raw json.RawMessage, otherwise []string) json.RawMessage {
	if len(raw) > 0 && raw[0] == '[' {
		return raw
	}
	return javascript.MustEncode(otherwise)
}
