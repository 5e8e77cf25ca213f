package mockmodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// openAIRequest reads a request of the chat completions API, which OpenCode's OpenAI-compatible providers use.
func openAIRequest(body []byte, at time.Time) (Request, error) {
	var wire struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			CallID  string          `json:"tool_call_id"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	r := Request{At: at, Body: body}
	for _, message := range wire.Messages {
		switch text := contentText(message.Content); message.Role {
		case "user":
			// Text that the agent adds in the user's name (reminders, messages during the turn) is in a tag.
			if !strings.HasPrefix(strings.TrimSpace(text), "<") {
				r.UserText, r.Fresh = text, 0
			}
		case "tool":
			r.Outputs = append(r.Outputs, Output{CallID: message.CallID, Text: text})
			r.Fresh++
		}
	}
	for _, tool := range wire.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	// Side requests of an agent (a title) offer no tools.
	r.aside = len(r.Tools) == 0
	return r, nil
}

func (s *Server) complete(w http.ResponseWriter, req *http.Request) {
	r, p, asked := s.ask(w, req, openAIRequest, refuse)
	if !asked {
		return
	}
	chunks := &chunks{sse: stream(w), id: s.nextID("chatcmpl")}
	finish := "stop"
	if p.reason {
		for _, part := range pieces("Thinking about the mock answer") {
			chunks.delta(object{"reasoning_content": part})
		}
	}
	if len(p.calls) > 0 {
		finish = "tool_calls"
		for index, call := range p.calls {
			name, arguments := openAICall(r, call)
			chunks.delta(object{"tool_calls": []object{{"index": index, "id": s.nextID("call"), "type": "function",
				"function": object{"name": name, "arguments": arguments}}}})
		}
	} else if !s.words(req, p, func(text string) { chunks.delta(object{"content": text}) }) {
		return // cut: the client disconnected or the server closes
	}
	chunks.end(finish)
}

// openAICall returns a tool of OpenCode and its arguments.
func openAICall(r Request, c toolCall) (name, arguments string) {
	switch c.kind {
	case callPatch:
		return "write", encode(object{"filePath": c.arg, "content": written})
	case callAsk:
		return "question", encode(question())
	case callSeveral:
		return "question", encode(several("multiple"))
	case callTool:
		if server, tool, ok := strings.Cut(c.name, "/"); ok {
			return r.ofServer(server, tool), c.arg
		}
		return c.name, c.arg
	}
	return "bash", encode(object{"command": c.arg, "description": "run what the script says"})
}

// chunks writes the parts of one chat completion.
type chunks struct {
	*sse
	id string
}

func (c *chunks) write(data object) {
	data["id"], data["object"], data["created"], data["model"] = c.id, "chat.completion.chunk", time.Now().Unix(), "mock"
	c.data(data)
}

func (c *chunks) delta(delta object) {
	delta["role"] = "assistant"
	c.write(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": nil}}})
}

func (c *chunks) end(reason string) {
	c.write(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": reason}}})
	c.write(object{"choices": []object{}, "usage": object{"prompt_tokens": 100, "completion_tokens": 20,
		"total_tokens": 120, "prompt_tokens_details": object{"cached_tokens": 10},
		"completion_tokens_details": object{"reasoning_tokens": 5}}})
	if c.ok {
		_, _ = fmt.Fprint(c.w, "data: [DONE]\n\n") // the end of the stream: a client that misses it has disconnected
	}
}
