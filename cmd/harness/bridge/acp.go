package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// maxTexts limits the texts of a session whose length is remembered; it needs those that still grow.
const maxTexts = 64

// ACP is the Agent Client Protocol. A new connection repeats initialize, resumes the sessions that the program has open
// from where they were, and sends prompts without an answer again, with their keys.
type ACP struct {
	mu       sync.Mutex
	hello    []byte
	sessions map[string]*acpSession
	open     map[string]acpRequest // requests without an answer, by id
	order    []string              // their ids
	asked    map[string]bool       // requests of the server that the program has
	answers  [][]byte              // its latest answers: one that was lost is sent again
}

// maxAnswers limits the answers that are remembered.
const maxAnswers = 16

// acpSession is what the program has of a session.
type acpSession struct {
	pos    int64
	texts  map[string]int64
	latest []string // the names of texts, oldest first
	effort []byte   // the request that set it
}

type acpRequest struct {
	method, session, key string
	message              []byte
}

// acpMeta is what the server adds for a later connection.
type acpMeta struct {
	Harness struct {
		Pos  int64  `json:"pos"`
		Text string `json:"text"`
		End  int64  `json:"end"`
	} `json:"harness"`
}

// acpLine is what ACP reads of a message.
type acpLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string          `json:"sessionId"`
		Option    string          `json:"configId"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      acpMeta         `json:"_meta"`
	} `json:"params"`
	Result struct {
		SessionID string  `json:"sessionId"`
		Meta      acpMeta `json:"_meta"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// Sent implements Protocol. A prompt gets a key.
func (a *ACP) Sent(message []byte) []byte {
	var m acpLine
	_ = json.Unmarshal(message, &m) // members of another form are none
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == nil {
		a.open, a.sessions, a.asked = map[string]acpRequest{}, map[string]*acpSession{}, map[string]bool{}
	}
	if m.Method == "" && m.ID != nil {
		if a.answers = append(a.answers, message); len(a.answers) > maxAnswers {
			a.answers = a.answers[1:]
		}
	}
	if m.Method == "" || m.ID == nil {
		return message
	}
	request := acpRequest{method: m.Method, session: m.Params.SessionID}
	switch m.Method {
	case "initialize":
		a.hello = message
	case "session/close", "session/delete":
		delete(a.sessions, m.Params.SessionID)
	case "session/set_config_option":
		if one := a.sessions[m.Params.SessionID]; one != nil && m.Params.Option == "effort" {
			one.effort = message
		}
	case "session/prompt":
		request.key = uuid.NewString()
		message = withKey(message, request.key)
		request.message = message
	}
	a.open[string(m.ID)] = request
	a.order = append(a.order, string(m.ID))
	return message
}

// withKey adds a key to a prompt.
func withKey(message []byte, key string) []byte {
	var whole, params, meta map[string]json.RawMessage
	if json.Unmarshal(message, &whole) != nil || json.Unmarshal(whole["params"], &params) != nil || params == nil {
		return message // the server refuses it
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta["harness"] = fmt.Appendf(nil, `{"key":%q}`, key)
	params["_meta"] = encode(meta)
	whole["params"] = encode(params)
	return encode(whole)
}

// encode encodes texts, numbers and JSON.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// Received implements Protocol. A request comes once, also over a new connection.
func (a *ACP) Received(message []byte) bool {
	var m acpLine
	_ = json.Unmarshal(message, &m) // members of another form are none
	a.mu.Lock()
	defer a.mu.Unlock()
	id := string(m.ID)
	switch {
	case m.Method == "$/cancel_request":
		return a.asked[string(m.Params.RequestID)]
	case m.Method != "" && m.ID != nil:
		has := a.asked[id]
		a.asked[id] = true
		return !has
	case m.Method != "":
		a.note(m.Params.SessionID, m.Params.Meta)
		return true
	}
	request, known := a.open[id]
	delete(a.open, id)
	a.order = slices.DeleteFunc(a.order, func(one string) bool { return one == id })
	if known && m.Error == nil {
		switch request.method {
		case "session/new", "session/fork":
			request.session = m.Result.SessionID
			fallthrough
		case "session/load", "session/resume":
			a.sessions[request.session] = &acpSession{texts: map[string]int64{}}
			a.note(request.session, m.Result.Meta)
		}
	}
	return !strings.HasPrefix(id, repeated)
}

// note notes what the program has of a session.
func (a *ACP) note(session string, meta acpMeta) {
	one := a.sessions[session]
	if one == nil {
		return
	}
	one.pos = max(one.pos, meta.Harness.Pos)
	name := meta.Harness.Text
	if name == "" {
		return
	}
	if _, has := one.texts[name]; !has {
		one.latest = append(one.latest, name)
	}
	one.texts[name] = meta.Harness.End
	if len(one.latest) > maxTexts {
		delete(one.texts, one.latest[0])
		one.latest = one.latest[1:]
	}
}

// Again implements Protocol.
func (a *ACP) Again() (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hello == nil {
		return nil
	}
	messages = append(messages, withID(a.hello, "initialize"))
	for _, session := range slices.Sorted(maps.Keys(a.sessions)) {
		one, keys := a.sessions[session], []string{}
		for _, id := range a.order {
			if request := a.open[id]; request.session == session && request.key != "" {
				keys = append(keys, request.key)
			}
		}
		messages = append(messages, encode(map[string]any{"jsonrpc": "2.0", "id": "bridge-resume-" + session, "method": "session/resume",
			"params": map[string]any{"sessionId": session, "cwd": "/", "mcpServers": []any{},
				"_meta": map[string]any{"harness": map[string]any{"after": one.pos, "texts": one.texts, "keys": keys}}}}))
		if one.effort != nil {
			messages = append(messages, withID(one.effort, "effort-"+session))
		}
	}
	for _, id := range a.order {
		if request := a.open[id]; request.message != nil {
			messages = append(messages, request.message)
		}
	}
	return append(messages, a.answers...)
}

// withID returns a request under an id of the bridge.
func withID(message []byte, id string) []byte {
	var whole map[string]json.RawMessage
	_ = json.Unmarshal(message, &whole) // it was read before
	whole["id"] = encode("bridge-" + id)
	return encode(whole)
}

// Lost implements Protocol. Prompts are answered over the next connection.
func (a *ACP) Lost() (messages [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.order = slices.DeleteFunc(a.order, func(id string) bool {
		if a.open[id].message != nil {
			return false
		}
		delete(a.open, id)
		messages = append(messages, fmt.Appendf(nil,
			`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"the connection to the server was lost; send it again"}}`, id))
		return true
	})
	return messages
}
