package mockmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// openAIRequest reads a request of the chat completions API, which OpenCode's OpenAI-compatible providers speak.
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
	r := Request{At: at, Body: body, customTools: map[string]bool{}}
	for _, message := range wire.Messages {
		switch text := contentText(message.Content); message.Role {
		case "user":
			// What the agent adds itself in the user's name (reminders, what was said meanwhile) is wrapped in a tag.
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
	return r, nil
}

func (s *Server) complete(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	r, err := openAIRequest(body, time.Now())
	if err != nil {
		refuse(w, http.StatusBadRequest, "mock model can not read the request: "+err.Error())
		return
	}
	// Side requests of an agent (a title) offer no tools; the script is not for them.
	p := plan{message: "Mock title"}
	if len(r.Tools) > 0 {
		s.record(r)
		s.mu.Lock()
		number := len(s.requests)
		s.mu.Unlock()
		p = script(r, number)
	}
	if p.status != 0 {
		refuse(w, p.status, "mock model was told to fail")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	chunks := &chunks{sse: &sse{w: w, ok: true}, id: s.nextID("chatcmpl")}
	finish := "stop"
	if p.reason {
		for _, part := range pieces("Thinking about the mock answer") {
			chunks.delta(object{"reasoning_content": part})
		}
	}
	if p.call != nil {
		finish = "tool_calls"
		name, arguments := openAICall(*p.call)
		chunks.delta(object{"tool_calls": []object{{"index": 0, "id": s.nextID("call"), "type": "function",
			"function": object{"name": name, "arguments": arguments}}}})
	} else if !s.completeMessage(req, chunks, p) {
		return
	}
	chunks.end(finish)
}

// openAICall names a tool of OpenCode and its arguments.
func openAICall(c toolCall) (name, arguments string) {
	switch c.kind {
	case callPatch:
		return "write", encode(object{"filePath": c.arg, "content": "hello from mock\n"})
	case callAsk:
		return "question", encode(object{"questions": []object{{"header": "Pick", "question": "Which one?", "options": []object{
			{"label": "A", "description": "first"}, {"label": "B", "description": "second"}}}}})
	case callTool:
		return strings.ReplaceAll(c.name, "/", "_"), c.arg
	}
	return "bash", encode(object{"command": c.arg, "description": "run what the script says"})
}

// completeMessage streams an assistant message; false when it was cut.
func (s *Server) completeMessage(req *http.Request, out *chunks, p plan) bool {
	say := func(text string) { out.delta(object{"content": text}) }
	for i := range p.words {
		if i > 0 && !pause(req, p.pause) {
			return false
		}
		say(fmt.Sprintf("word%d ", i))
	}
	switch {
	case p.hold != "":
		if p.words == 0 {
			say("holding ")
		}
		if !s.held(req, p.hold) {
			return false
		}
		say("released " + p.hold)
	case p.words == 0:
		for _, part := range pieces(p.message) {
			say(part)
		}
	}
	return out.ok
}

// chunks writes the parts of one chat completion.
type chunks struct {
	*sse
	id string
}

func (c *chunks) write(data object) {
	if !c.ok {
		return
	}
	data["id"], data["object"], data["created"], data["model"] = c.id, "chat.completion.chunk", time.Now().Unix(), "mock"
	raw, err := json.Marshal(data)
	if err == nil {
		_, err = fmt.Fprintf(c.w, "data: %s\n\n", raw)
	}
	if err == nil {
		err = http.NewResponseController(c.w).Flush()
	}
	c.ok = err == nil
}

func (c *chunks) delta(delta object) {
	delta["role"] = "assistant"
	c.write(object{"choices": []object{{"index": 0, "delta": delta, "finish_reason": nil}}})
}

func (c *chunks) end(reason string) {
	c.write(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": reason}}})
	c.write(object{"choices": []object{}, "usage": object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
		"prompt_tokens_details": object{"cached_tokens": 10}, "completion_tokens_details": object{"reasoning_tokens": 5}}})
	if c.ok {
		_, _ = fmt.Fprint(c.w, "data: [DONE]\n\n") // the last word: who does not hear it is gone
	}
}
