package mockmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody bounds one request; codex sends the whole conversation each time.
const maxBody = 256 << 20

type object = map[string]any

// sse writes server-sent events and records a disconnect of the client.
type sse struct {
	w  http.ResponseWriter
	ok bool
	// together holds events back until it is false again, so that they arrive as one.
	together bool
}

func (e *sse) send(kind string, data object) {
	if !e.ok {
		return
	}
	data["type"] = kind
	_, err := fmt.Fprintf(e.w, "event: %s\n", kind)
	e.ok = err == nil
	e.data(data)
}

// data writes an event without a name.
func (e *sse) data(data object) {
	if !e.ok {
		return
	}
	raw, err := json.Marshal(data)
	if err == nil {
		_, err = fmt.Fprintf(e.w, "data: %s\n\n", raw)
	}
	if err == nil && !e.together {
		err = http.NewResponseController(e.w).Flush()
	}
	e.ok = err == nil
}

// stream starts an answer of server-sent events.
func stream(w http.ResponseWriter) *sse {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return &sse{w: w, ok: true}
}

func writeJSON(w http.ResponseWriter, status int, value object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that misses it has disconnected
}

// refusals returns the beginning of an error's text in the format of providers: some agents pass on only this text,
// and no status.
func refusals(status int) string {
	if status == http.StatusUnauthorized {
		return "Incorrect API key provided: "
	}
	return ""
}

// ask reads a request in a dialect and returns the plan for its answer. It returns false after a refusal, which has
// the dialect's error.
func (s *Server) ask(w http.ResponseWriter, req *http.Request, read func(body []byte, at time.Time) (Request, error),
	refuse func(w http.ResponseWriter, status int, message string)) (Request, plan, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return Request{}, plan{}, false
	}
	r, err := read(body, time.Now())
	if err != nil {
		refuse(w, http.StatusBadRequest, "mock model can not read the request: "+err.Error())
		return r, plan{}, false
	}
	p := plan{message: "Mock title"}
	if !r.aside {
		p = script(r, s.record(r))
	}
	if name, ok := bracket(r.UserText, "MOCK_DOWN["); ok && !r.aside && !s.released(name) {
		p.status = http.StatusServiceUnavailable
	}
	if p.status != 0 {
		refuse(w, p.status, cmp.Or(p.refusal, refusals(p.status)+"mock model fails as asked"))
		return r, p, false
	}
	return r, p, true
}

func (s *Server) respond(w http.ResponseWriter, req *http.Request) {
	r, p, asked := s.ask(w, req, parseRequest, refuse)
	if !asked {
		return
	}
	events := stream(w)
	id := s.nextID("resp")
	events.send("response.created", object{"response": object{"id": id}})
	if p.reason {
		s.reason(events)
	}
	if len(p.calls) > 0 {
		// codex acts on a call at once. Send the end with the call, or the order of codex's next requests would
		// depend on the speed of this process.
		events.together = true
		for index, call := range p.calls {
			s.call(events, r, index, call)
		}
		events.together = false
	} else if !s.message(req, events, p) {
		// Cut without response.completed: the client disconnected or the server closes.
		return
	}
	usage := object{
		"input_tokens": 100, "input_tokens_details": object{"cached_tokens": 10},
		"output_tokens": 20, "output_tokens_details": object{"reasoning_tokens": 5}, "total_tokens": 120,
	}
	events.send("response.completed", object{"response": object{"id": id, "usage": usage}})
}

func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{"message": message, "type": "mock_error", "code": "mock_error"}})
}

// message streams an assistant message; false when it was cut.
func (s *Server) message(req *http.Request, events *sse, p plan) bool {
	id := s.nextID("msg")
	item := func(text string) object {
		content := []object{}
		if text != "" {
			content = append(content, object{"type": "output_text", "text": text})
		}
		return object{"type": "message", "id": id, "role": "assistant", "content": content}
	}
	events.send("response.output_item.added", object{"output_index": 0, "item": item("")})
	var whole strings.Builder
	delta := func(text string) {
		whole.WriteString(text)
		events.send("response.output_text.delta", object{"item_id": id, "output_index": 0, "content_index": 0, "delta": text})
	}
	if !s.words(req, p, delta) {
		return false
	}
	events.send("response.output_item.done", object{"output_index": 0, "item": item(whole.String())})
	return events.ok
}

func (s *Server) held(req *http.Request, name string) bool {
	s.mu.Lock()
	h := s.holdLocked(name)
	h.holding++
	s.wakeLocked()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		h.holding--
		s.wakeLocked()
		s.mu.Unlock()
	}()
	select {
	case <-h.release:
		return true
	case <-req.Context().Done():
		return false
	}
}

func pause(req *http.Request, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-req.Context().Done():
		return false
	}
}

func (s *Server) reason(events *sse) {
	id, text := s.nextID("rs"), "**Thinking** about the mock answer"
	events.send("response.output_item.added",
		object{"output_index": 0, "item": object{"type": "reasoning", "id": id, "summary": []object{}}})
	events.send("response.reasoning_summary_part.added", object{"item_id": id, "summary_index": 0})
	for _, part := range pieces(text) {
		events.send("response.reasoning_summary_text.delta", object{"item_id": id, "summary_index": 0, "delta": part})
	}
	events.send("response.output_item.done", object{"output_index": 0, "item": object{
		"type": "reasoning", "id": id, "summary": []object{{"type": "summary_text", "text": text}},
	}})
}

// pieces cuts a text into a few deltas, never inside a character.
func pieces(text string) []string {
	runes := []rune(text)
	size := max(8, len(runes)/8)
	var parts []string
	for len(runes) > size {
		parts, runes = append(parts, string(runes[:size])), runes[size:]
	}
	return append(parts, string(runes))
}

// words sends the text of an answer, delta by delta; false when it was cut.
func (s *Server) words(req *http.Request, p plan, say func(string)) bool {
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
	return true
}
