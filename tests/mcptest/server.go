// Package mcptest is a small MCP server over stdio for tests of runtimes that call MCP tools.
//
// It owns the server's tools and its configuration in codex. It must never know the harness, because only the runtime
// connects to it.
package mcptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Name is the server's name in the runtime's configuration.
const Name = "tiny"

// Config returns the section of codex's config.toml that starts the server. codex runs the program with the variable
// set, and the program must then call Serve.
func Config(program, variable string) string {
	return fmt.Sprintf("[mcp_servers.%s]\ncommand = %q\nenv = { %s = \"1\" }\n", Name, program, variable)
}

type object = map[string]any

// message is any JSON-RPC message: a request, a notification, or the response to a request from this server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// server is one connection. It handles one message at a time. A tool that asks its user gets its result when the
// user's answer arrives.
type server struct {
	out *json.Encoder
	// ran counts the calls of wipe, so that a test can check whether one ran. asked counts the elicitations.
	ran, asked int
	// asking are the tool calls that wait for an elicitation, by its id.
	asking map[string]json.RawMessage
}

// Serve handles requests until in ends.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{out: json.NewEncoder(out), asking: map[string]json.RawMessage{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the MCP client: %w", err)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return fmt.Errorf("the MCP client wrote %q: %w", line, err)
		}
		if err := s.handle(m); err != nil {
			return fmt.Errorf("write to the MCP client: %w", err)
		}
	}
}

func (s *server) handle(m message) error {
	switch {
	case m.Method == "initialize":
		return s.answer(m.ID, object{"protocolVersion": m.Params.Version, "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": Name, "version": "1"}})
	case m.Method == "tools/list":
		return s.answer(m.ID, object{"tools": tools()})
	case m.Method == "tools/call":
		return s.call(m)
	case m.Method == "" && s.asking[string(m.ID)] != nil:
		call := s.asking[string(m.ID)]
		delete(s.asking, string(m.ID))
		return s.say(call, "the user said "+string(m.Result)+string(m.Error))
	case m.Method == "ping":
		return s.answer(m.ID, object{})
	case m.Method != "" && len(m.ID) > 0:
		return s.out.Encode(
			object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32601, "message": "no method " + m.Method}})
	}
	return nil // a notification
}

func (s *server) answer(id json.RawMessage, result object) error {
	return s.out.Encode(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *server) say(call json.RawMessage, text string) error {
	return s.answer(call, object{"content": []object{{"type": "text", "text": text}}})
}

// tools returns look, which only reads; wipe, which writes; and form and visit, which ask the user.
func tools() []object {
	tool := func(name string, readOnly bool) object {
		return object{"name": name, "description": name + " something",
			"inputSchema": object{"type": "object", "properties": object{}},
			"annotations": object{"readOnlyHint": readOnly, "destructiveHint": !readOnly}}
	}
	return []object{tool("look", true), tool("wipe", false), tool("form", true), tool("visit", true)}
}

func (s *server) call(m message) error {
	switch m.Params.Name {
	case "look":
		return s.say(m.ID, "looked")
	case "wipe":
		s.ran++
		return s.say(m.ID, fmt.Sprintf("wiped %d", s.ran))
	case "form":
		return s.ask(m.ID,
			object{"message": "Who are you?", "requestedSchema": object{"type": "object", "required": []string{"name"},
				"properties": object{
					"name":   object{"type": "string", "title": "Name", "description": "Your full name"},
					"age":    object{"type": "integer", "minimum": 0},
					"member": object{"type": "boolean"},
					"colour": object{"type": "string", "enum": []string{"red", "blue"}},
				}}})
	case "visit":
		return s.ask(m.ID, object{"mode": "url", "message": "Sign in", "url": "https://example.com/sign-in",
			"elicitationId": "e1"})
	}
	return s.out.Encode(
		object{"jsonrpc": "2.0", "id": m.ID, "error": object{"code": -32602, "message": "no tool " + m.Params.Name}})
}

// ask sends an elicitation. Its response becomes the result of the tool call.
func (s *server) ask(call json.RawMessage, params object) error {
	s.asked++
	id := fmt.Sprintf(`"ask-%d"`, s.asked)
	s.asking[id] = call
	return s.out.Encode(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "elicitation/create",
		"params": params})
}
