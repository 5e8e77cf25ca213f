package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/form"
	"harness/internal/runtime/wire"
)

// Answers defined by MCP.
const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// elicitation has the parameters of wire.MethodElicit: a question of an MCP server to its user, or codex's request to
// run a tool of one.
type elicitation struct {
	server, mode, url, kind, tool string
	// message, schema, arguments and persist are JSON, slices of the parameters.
	message, title, schema, arguments, persist json.RawMessage
}

func elicitationOf(params json.RawMessage) elicitation {
	given := wire.Members(params, "serverName", "mode", "url", "message", "title", "requestedSchema", "_meta")
	meta := wire.Members(given[6], "codex_approval_kind", "tool_name", "tool_params", "persist")
	return elicitation{
		server: wire.Line(given[0]), mode: wire.Line(given[1]), url: wire.Line(given[2]), kind: wire.Line(meta[0]),
		tool: wire.Line(meta[1]), message: given[3], title: given[4], schema: given[5], arguments: meta[2], persist: meta[3],
	}
}

// approval reports whether the runtime itself requests approval for a tool. Any other elicitation is a question of
// the MCP server, answered with content.
func (e elicitation) approval() bool { return e.kind == "mcp_tool_call" }

// form reports whether the answer is content for the schema; a URL has none.
func (e elicitation) form() bool { return strings.HasSuffix(strings.ToLower(e.mode), "form") }

// forSession reports whether the tool can be allowed for the whole session. codex sends one value or a list.
func (e elicitation) forSession() bool {
	var one string
	var some []string
	_ = json.Unmarshal(e.persist, &one)
	_ = json.Unmarshal(e.persist, &some)
	return one == "session" || slices.Contains(some, "session")
}

// decisions returns the possible decisions about a tool call, in the format of availableDecisions.
func (e elicitation) decisions() json.RawMessage {
	if e.forSession() {
		return json.RawMessage(`["accept","acceptForSession","decline","cancel"]`)
	}
	return json.RawMessage(`["accept","decline","cancel"]`)
}

// tooLong reports whether a form is too large to fill in.
func (e elicitation) tooLong() bool { return !e.approval() && len(e.schema) > runtime.LongItem }

func (e elicitation) summary() string {
	server := cmp.Or(e.server, "an MCP server")
	if e.approval() {
		return "MCP tool approval required: " + server + "/" + cmp.Or(e.tool, "unknown")
	}
	asked := "Tool input required by " + server
	if message := cmp.Or(wire.Line(e.message), wire.Line(e.title)); message != "" {
		asked += ": " + message
	}
	if e.url != "" {
		asked += " (" + e.url + ")"
	}
	return asked
}

// elicited is the answer that codex passes to the MCP server, or uses itself for its own approval request.
type elicited struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content"`
	Meta    json.RawMessage `json:"_meta"`
}

func encodeElicited(e elicitation, reply runtime.Reply) (json.RawMessage, error) {
	out := elicited{Action: reply.Decision, Content: json.RawMessage("null"), Meta: json.RawMessage("null")}
	if len(reply.Choice) > 0 {
		return nil, &runtime.ReplyError{Field: "choice", Message: "this request is decided with decision and scope"}
	}
	if len(reply.Raw) > 0 {
		result, whole := e.result(reply.Raw)
		switch {
		case whole && result.Action == reply.Decision:
			return reply.Raw, nil
		case whole:
			return nil, &runtime.ReplyError{Field: "response",
				Message: fmt.Sprintf("its action is %q, the decision %q", result.Action, reply.Decision)}
		case out.Action != actionAccept:
			return nil, &runtime.ReplyError{Field: "response", Message: "only what is accepted has content"}
		}
		out.Content = reply.Raw
	}
	if out.Action != actionAccept {
		if reply.Message != "" {
			// The MCP server gets it. codex ignores it for its own request.
			out.Meta, _ = encode(map[string]string{"message": reply.Message}) // a string always encodes
		}
		return encode(out)
	}
	if e.approval() {
		out.Content = json.RawMessage("{}")
		if reply.Scope == "session" {
			if !e.forSession() {
				return nil, &runtime.ReplyError{Field: "scope",
					Message: "this tool can be allowed for one call only; the scope has to be turn"}
			}
			out.Meta = json.RawMessage(`{"persist":"session"}`)
		}
		return encode(out)
	}
	if e.form() {
		var err error
		if out.Content, err = e.content(out.Content, reply.Answers); err != nil {
			return nil, err
		}
	}
	return encode(out)
}

// result reads a response that is the whole answer instead of its content. A form could be mistaken for one only if
// it has a field named action.
func (e elicitation) result(raw json.RawMessage) (result elicited, is bool) {
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &named) != nil || named["action"] == nil || json.Unmarshal(raw, &result) != nil {
		return result, false
	}
	return result, !form.Of(e.schema).Has("action")
}

// content returns the content of a form: as given, or built from the answers to the questions. Required members must
// be present.
func (e elicitation) content(given, answers json.RawMessage) (json.RawMessage, error) {
	asked := form.Of(e.schema)
	name, content := "response", map[string]json.RawMessage{}
	if string(given) != "null" {
		if err := json.Unmarshal(given, &content); err != nil || content == nil {
			return nil, &runtime.ReplyError{Field: name, Message: "a form is answered with an object of its fields"}
		}
	} else {
		name = "answers"
		var err error
		if content, err = asked.Fill(answers); err != nil {
			return nil, err
		}
		given = nil
	}
	for _, one := range asked.Required {
		if _, has := content[one]; !has {
			return nil, &runtime.ReplyError{Field: name, Message: fmt.Sprintf("the form requires %q", one)}
		}
	}
	if given != nil {
		return given, nil // unchanged
	}
	return encode(content)
}

// checkDecision refuses unknown decisions.
func checkDecision(reply runtime.Reply) error {
	switch reply.Decision {
	case actionAccept, actionDecline, actionCancel:
		return nil
	}
	return &runtime.ReplyError{Field: "decision",
		Message: fmt.Sprintf("%q is unknown; accept, decline and cancel are allowed", reply.Decision)}
}
