package mockmodel

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// geminiPart is a part of a message: a text, a tool call of the model, or its result.
type geminiPart struct {
	Text     string `json:"text"`
	Thought  bool   `json:"thought"`
	Response *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func parseGemini(body []byte, at time.Time) (Request, error) {
	var wire struct {
		Contents []struct {
			Role  string       `json:"role"`
			Parts []geminiPart `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	r := Request{At: at, Body: body}
	for _, content := range wire.Contents {
		if content.Role == "model" {
			continue
		}
		for _, part := range content.Parts {
			switch {
			case part.Response != nil:
				r.Outputs = append(r.Outputs, Output{CallID: part.Response.ID, Text: geminiOutput(part.Response.Response)})
				r.Fresh++
			case part.Text != "" && !strings.HasPrefix(strings.TrimSpace(part.Text), "<"): // text that the agent adds for the user
				r.UserText, r.Fresh = part.Text, 0
			}
		}
	}
	for _, tool := range wire.Tools {
		for _, function := range tool.Functions {
			r.Tools = append(r.Tools, function.Name)
		}
	}
	return r, nil
}

// geminiOutput returns the text of a tool's result: its output, or its error.
func geminiOutput(raw json.RawMessage) string {
	var said struct{ Output, Error json.RawMessage }
	if json.Unmarshal(raw, &said) == nil {
		switch {
		case len(said.Output) > 0:
			return contentText(said.Output)
		case len(said.Error) > 0:
			return contentText(said.Error)
		}
	}
	return string(raw)
}

// generate answers POST /v1beta/models/MODEL:streamGenerateContent, and :generateContent, which agents use for side
// requests.
func (s *Server) generate(w http.ResponseWriter, req *http.Request) {
	model, method, _ := strings.Cut(req.PathValue("call"), ":")
	switch method {
	case "streamGenerateContent":
	case "countTokens":
		writeJSON(w, http.StatusOK, object{"totalTokens": 100})
		return
	default:
		writeJSON(w, http.StatusOK, geminiChunk(model, "STOP", object{"text": "{}"}))
		return
	}
	_, p, asked := s.ask(w, req, parseGemini, refuseGemini)
	if !asked {
		return
	}
	events := stream(w)
	say := func(finish string, parts ...object) { events.data(geminiChunk(model, finish, parts...)) }
	if p.reason {
		say("", object{"text": "**Thinking** about the mock answer", "thought": true})
	}
	if len(p.calls) > 0 {
		parts := make([]object, 0, len(p.calls))
		for _, call := range p.calls {
			name, args := geminiCall(call)
			parts = append(parts, object{"functionCall": object{"id": s.nextID("fc"), "name": name, "args": args}})
		}
		say("STOP", parts...)
		return
	}
	if s.words(req, p, func(text string) { say("", object{"text": text}) }) {
		say("STOP", object{"text": ""})
	}
}

func geminiChunk(model, finish string, parts ...object) object {
	candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{"candidates": []object{candidate}, "modelVersion": model, "usageMetadata": object{
		"promptTokenCount": 100, "cachedContentTokenCount": 10, "candidatesTokenCount": 20, "thoughtsTokenCount": 5,
		"totalTokenCount": 125,
	}}
}

// geminiCall returns a tool call in the names of Gemini CLI's tools.
func geminiCall(c toolCall) (name string, args any) {
	switch c.kind {
	case callPatch:
		return "write_file", object{"file_path": c.arg, "content": written}
	case callAsk:
		return "ask_user", question("type", "choice")
	case callSeveral:
		arguments := several("multiSelect")
		arguments["questions"].([]object)[0]["type"] = "choice"
		return "ask_user", arguments
	case callTool:
		if server, tool, ok := strings.Cut(c.name, "/"); ok {
			return "mcp_" + server + "_" + tool, json.RawMessage(c.arg)
		}
		return c.name, json.RawMessage(c.arg)
	}
	return "run_shell_command", object{"command": c.arg, "description": "a command of the mock model"}
}

func refuseGemini(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{"code": status, "message": message, "status": "MOCK_ERROR"}})
}
