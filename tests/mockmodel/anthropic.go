package mockmodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// anthropicRequest reads a request of the Messages API.
func anthropicRequest(body []byte, at time.Time) (Request, error) {
	var wire struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	r := Request{At: at, Body: body, whole: !wire.Stream}
	for _, message := range wire.Messages {
		if message.Role != "user" {
			continue
		}
		for _, part := range anthropicParts(message.Content) {
			switch text := strings.TrimSpace(part.Text); {
			case part.Type == "tool_result":
				r.Outputs = append(r.Outputs, Output{CallID: part.ToolUse, Text: contentText(part.Content)})
				r.Fresh++
			// Text that the agent adds in the user's name (reminders, interrupted turns) is in a tag or brackets.
			case part.Type == "text" && text != "" && text[0] != '<' && !strings.HasPrefix(text, "[Request interrupted"):
				r.UserText, r.Fresh = part.Text, 0
			}
		}
	}
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Name)
	}
	// Side requests of an agent (a title, a probe) offer no tools.
	r.aside = len(r.Tools) == 0
	return r, nil
}

type anthropicPart struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ToolUse string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
}

func anthropicParts(content json.RawMessage) []anthropicPart {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []anthropicPart{{Type: "text", Text: text}}
	}
	var parts []anthropicPart
	_ = json.Unmarshal(content, &parts) // none when it is neither
	return parts
}

func (s *Server) messages(w http.ResponseWriter, req *http.Request) {
	r, p, asked := s.ask(w, req, anthropicRequest, refuseAnthropic)
	switch {
	case !asked:
	case r.whole:
		writeJSON(w, http.StatusOK, object{"id": s.nextID("msg"), "type": "message", "role": "assistant", "model": "mock",
			"stop_reason": "end_turn", "content": []object{{"type": "text", "text": p.message}},
			"usage": object{"input_tokens": 100, "output_tokens": 5}})
	default:
		s.streamAnthropic(req, stream(w), r, p)
	}
}

// refuseAnthropic refuses a request with an error of the Messages API.
func refuseAnthropic(w http.ResponseWriter, status int, message string) {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": message}})
}

func (s *Server) streamAnthropic(req *http.Request, events *sse, r Request, p plan) {
	events.send("message_start",
		object{"message": object{"id": s.nextID("msg"), "type": "message", "role": "assistant", "model": "mock",
			"content": []object{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": object{"input_tokens": 100, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 30,
				"output_tokens": 1}}})
	index := 0
	block := func(start object, deltas func(delta func(object)) bool) bool {
		events.send("content_block_start", object{"index": index, "content_block": start})
		whole := deltas(func(d object) { events.send("content_block_delta", object{"index": index, "delta": d}) })
		if whole {
			events.send("content_block_stop", object{"index": index})
		}
		index++
		return whole
	}
	if p.reason {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, func(delta func(object)) bool {
			for _, part := range pieces("Thinking about the mock answer") {
				delta(object{"type": "thinking_delta", "thinking": part})
			}
			delta(object{"type": "signature_delta", "signature": "c2ln"})
			return true
		})
	}
	stop := "end_turn"
	if len(p.calls) > 0 {
		stop = "tool_use"
		// The agent acts on a call at once. Send the end with the call, or the order of the agent's next requests
		// would depend on the speed of this process.
		events.together = true
		for _, call := range p.calls {
			name, arguments := anthropicCall(r, call)
			block(object{"type": "tool_use", "id": s.nextID("toolu"), "name": name, "input": object{}},
				func(delta func(object)) bool {
					delta(object{"type": "input_json_delta", "partial_json": arguments})
					return true
				})
		}
	} else if !block(object{"type": "text", "text": ""}, func(delta func(object)) bool {
		return s.words(req, p, func(text string) { delta(object{"type": "text_delta", "text": text}) })
	}) {
		return // cut: the client disconnected or the server closes
	}
	events.send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"output_tokens": 20}})
	events.together = false
	events.send("message_stop", object{})
}

// anthropicCall returns one tool call, in Claude Code's names.
func anthropicCall(r Request, c toolCall) (name, arguments string) {
	offered := func(names ...string) string {
		for _, name := range names {
			if r.offers(name) {
				return name
			}
		}
		return names[0]
	}
	switch c.kind {
	case callCommand, callEscalate:
		args := object{"command": c.arg, "description": "run a command"}
		if c.kind == callEscalate {
			args["dangerouslyDisableSandbox"] = true
		}
		return offered("Bash", "bash"), encode(args)
	case callPatch:
		name = offered("Write", "write")
		path := map[string]string{"Write": "file_path", "write": "filePath"}[name]
		return name, encode(object{path: c.arg, "content": written})
	case callAsk:
		return offered("AskUserQuestion", "question"), encode(question("multiSelect", false))
	case callSeveral:
		name = offered("AskUserQuestion", "question")
		return name, encode(several(map[string]string{"AskUserQuestion": "multiSelect", "question": "multiple"}[name]))
	default:
		if server, tool, ok := strings.Cut(c.name, "/"); ok {
			return r.ofServer(server, tool), c.arg
		}
		return c.name, c.arg
	}
}
