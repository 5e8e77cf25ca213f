package bridge

import (
	"encoding/json"
	"fmt"
	"sync"
)

// AppServer is the protocol of codex's front ends. A new connection repeats initialize, and resumes the threads that
// the program has open.
type AppServer struct {
	mu      sync.Mutex
	hello   []byte
	threads map[string]bool
	open    map[string]string // requests without an answer, by id: their method
}

// line is what AppServer reads of a message.
type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
	} `json:"params"`
	Result struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	} `json:"result"`
}

// repeated marks the ids of messages that the bridge sends itself.
const repeated = `"bridge-`

// Sent implements Protocol.
func (a *AppServer) Sent(message []byte) []byte {
	var m line
	if json.Unmarshal(message, &m) != nil || m.Method == "" || m.ID == nil {
		return message
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open, a.threads = map[string]string{}, map[string]bool{}
	}
	a.open[string(m.ID)] = m.Method
	switch m.Method {
	case "initialize":
		a.hello = message
	case "thread/unsubscribe":
		delete(a.threads, m.Params.ThreadID)
	}
	return message
}

// Received implements Protocol.
func (a *AppServer) Received(message []byte) bool {
	var m line
	_ = json.Unmarshal(message, &m) // members of another form are none
	if m.Method != "" || m.ID == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id := string(m.ID)
	switch a.open[id] {
	case "thread/start", "thread/resume", "thread/fork":
		if m.Result.Thread.ID != "" {
			a.threads[m.Result.Thread.ID] = true
		}
	}
	delete(a.open, id)
	return len(id) < len(repeated) || id[:len(repeated)] != repeated
}

// Again implements Protocol.
func (a *AppServer) Again() (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hello == nil {
		return nil
	}
	var hello map[string]json.RawMessage
	if json.Unmarshal(a.hello, &hello) == nil {
		hello["id"] = json.RawMessage(repeated + `initialize"`)
		if text, err := json.Marshal(hello); err == nil {
			messages = append(messages, text)
		}
	}
	for id := range a.threads {
		messages = append(messages, fmt.Appendf(nil, `{"id":%sresume-%s","method":"thread/resume","params":{"threadId":%q,"excludeTurns":true}}`,
			repeated, id, id))
	}
	return messages
}

// Lost implements Protocol.
func (a *AppServer) Lost() (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.open {
		messages = append(messages, fmt.Appendf(nil,
			`{"id":%s,"error":{"code":-32603,"message":"the connection to the server was lost; send it again"}}`, id))
	}
	clear(a.open)
	return messages
}
