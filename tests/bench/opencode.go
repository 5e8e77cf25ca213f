package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// openCode is an agent with the protocol of OpenCode's server: HTTP and a stream of events.
type openCode struct {
	mu       sync.Mutex
	sessions int
	folders  map[string]string
	events   chan []byte
}

// playOpenCode serves until the process is killed.
func playOpenCode(out io.Writer) error {
	o := &openCode{folders: map[string]string{}, events: make(chan []byte, 4096)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "opencode server listening on http://%s\n", listener.Addr()); err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /global/health", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]any{"healthy": true, "version": "1.18.33"})
	})
	routes.HandleFunc("GET /global/event", o.listen)
	routes.HandleFunc("POST /session", o.open)
	routes.HandleFunc("GET /session/{id}", o.look)
	routes.HandleFunc("PATCH /session/{id}", o.look)
	routes.HandleFunc("POST /session/{id}/prompt_async", o.prompt)
	for _, path := range []string{"/permission", "/question", "/session/{id}/message"} {
		routes.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, []any{}) })
	}
	routes.HandleFunc("GET /session/status", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]any{})
	})
	return http.Serve(listener, routes) //nolint:gosec // the benchmark's own, on loopback
}

func answerJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // an error means that the caller disconnected
}

// listen serves the stream of events to its only listener.
func (o *openCode) listen(w http.ResponseWriter, r *http.Request) {
	flusher := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, `data: {"payload":{"type":"server.connected","properties":{}}}`+"\n\n")
	for flusher.Flush() == nil {
		select {
		case event := <-o.events:
			_, _ = w.Write(event)
			for range len(o.events) { // send the waiting events together
				_, _ = w.Write(<-o.events)
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (o *openCode) describe(id string) map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	return map[string]any{"id": id, "directory": o.folders[id], "title": "bench", "version": "1.18.33",
		"time": map[string]int64{"created": 1, "updated": 1}}
}

func (o *openCode) open(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.sessions++
	id := fmt.Sprintf("ses_%d", o.sessions)
	o.folders[id] = r.Header.Get("X-Opencode-Directory")
	o.mu.Unlock()
	answerJSON(w, o.describe(id))
}

func (o *openCode) look(w http.ResponseWriter, r *http.Request) {
	answerJSON(w, o.describe(r.PathValue("id")))
}

// prompt starts a turn.
func (o *openCode) prompt(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		MessageID string
		Parts     []struct{ Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(asked.Parts) == 0 {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	wanted, _ := parseStamped(asked.Parts[0].Text)
	w.WriteHeader(http.StatusNoContent)
	go o.answer(r.PathValue("id"), asked.MessageID, asked.Parts[0].Text, wanted)
}

// answer sends a turn as OpenCode's events.
func (o *openCode) answer(session, message, text string, wanted stamped) {
	o.mu.Lock()
	folder := strconv.Quote(o.folders[session])
	o.mu.Unlock()
	event := func(kind, properties string) string {
		return `{"type":"` + kind + `","properties":{"sessionID":"` + session + `",` + properties + `}}`
	}
	say := func(payloads ...string) {
		for _, payload := range payloads {
			o.events <- []byte(`data: {"directory":` + folder + `,"payload":` + payload + "}\n\n")
		}
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	mine, part := message+"a", "prt_"+strings.TrimPrefix(message, "msg_")
	assistant := func(more string) string {
		return event("message.updated", `"info":{"id":"`+mine+`","parentID":"`+message+`","role":"assistant","sessionID":"`+
			session+`","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"modelID":"m",`+
			`"providerID":"mock","time":{"created":`+now+more+`}}`)
	}
	texts := func(id, of, said, time string) string {
		return event("message.part.updated", `"part":{"id":"`+id+`","messageID":"`+of+`","sessionID":"`+session+
			`","type":"text","text":"`+said+`"`+time+`}`)
	}
	say(event("message.updated", `"info":{"id":"`+message+`","role":"user","sessionID":"`+session+
		`","time":{"created":`+now+`}}`),
		texts(part+"u", message, text, ""), event("session.status", `"status":{"type":"busy"}`), assistant(""),
		texts(part, mine, "", `,"time":{"start":`+now+`}`))
	var whole strings.Builder
	wanted.pieces(say, func(delta string) string {
		whole.WriteString(delta)
		return event("message.part.delta", `"messageID":"`+mine+`","partID":"`+part+`","field":"text","delta":"`+delta+`"`)
	})
	say(texts(part, mine, whole.String(), `,"time":{"start":`+now+`,"end":`+now+`}`), assistant(`,"completed":`+now),
		event("session.status", `"status":{"type":"idle"}`),
		`{"type":"session.idle","properties":{"sessionID":"`+session+`"}}`)
}
