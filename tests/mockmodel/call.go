package mockmodel

import (
	"encoding/json"
	"strings"
)

// call sends one tool call in the form of the offered tools: their names and arguments differ between codex versions.
func (s *Server) call(events *sse, r Request, index int, c toolCall) {
	item := object{"type": "function_call", "id": s.nextID("fc"), "call_id": s.nextID("call")}
	switch c.kind {
	case callCommand, callEscalate:
		name, args := shell(r, c.arg)
		if c.kind == callEscalate {
			args["sandbox_permissions"] = "require_escalated"
			args["justification"] = "the mock model asks"
		}
		item["name"], item["arguments"] = name, encode(args)
	case callPatch:
		patch := "*** Begin Patch\n*** Add File: " + c.arg + "\n+" + written + "*** End Patch\n"
		item["name"] = "apply_patch"
		switch {
		case r.customTools["apply_patch"]:
			item["type"], item["input"] = "custom_tool_call", patch
		case r.offers("apply_patch"):
			item["arguments"] = encode(object{"input": patch})
		default:
			// codex offers no such tool to a model it does not know; it finds the patch in the command.
			name, args := shell(r, "apply_patch <<'EOF'\n"+patch+"EOF\n")
			item["name"], item["arguments"] = name, encode(args)
		}
	case callAsk, callSeveral: // its questions take one answer
		item["name"] = "request_user_input"
		item["arguments"] = encode(question("id", "q1"))
	case callTool:
		item["name"], item["arguments"] = c.name, c.arg
		if server, tool, ok := strings.Cut(c.name, "/"); ok {
			item["namespace"], item["name"] = "mcp__"+strings.ReplaceAll(server, "-", "_"), tool
		}
	}
	events.send("response.output_item.done", object{"output_index": index, "item": item})
}

// written is the content of a file from MOCK_PATCH.
const written = "hello from mock\n"

// question returns the arguments of the tool that asks the user. fields are the additional fields of a dialect's
// question, by name and value.
func question(fields ...any) object {
	one := object{"header": "Pick", "question": "Which one?",
		"options": []object{{"label": "A", "description": "first"}, {"label": "B", "description": "second"}}}
	for i := 0; i < len(fields); i += 2 {
		one[fields[i].(string)] = fields[i+1]
	}
	return object{"questions": []object{one}}
}

// several returns the arguments of a question that accepts more than one answer; flag is a dialect's name for that.
func several(flag string) object {
	return object{"questions": []object{{"header": "Pick", "question": "Which ones?", flag: true,
		"options": []object{{"label": "a, b", "description": "with a comma"}, {"label": `"c"`, "description": "with quotes"},
			{"label": "d", "description": "plain"}}}}}
}

func shell(r Request, command string) (string, object) {
	switch {
	case r.offers("exec_command") || !r.offers("shell_command") && !r.offers("shell"):
		return "exec_command", object{"cmd": command}
	case r.offers("shell_command"):
		return "shell_command", object{"command": command}
	default:
		return "shell", object{"command": []string{"bash", "-lc", command}}
	}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// Only maps of strings arrive here.
		panic(err)
	}
	return string(raw)
}
