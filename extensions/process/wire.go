package process

import (
	"encoding/json"

	"harness/extensions"
)

// protocol is the version that both sides send in load and ready.
const protocol = 1

// incoming is every message a child may send, one JSON object a line:
//
//	ready  {protocol, concurrency?, subscriptions: [{eventType, priority?, timeoutMs?}], missing?: names out of load's uses}
//	failed {code: import_failed|missing_register|registration_failed, message}
//	result {id, value?}            the handler returned
//	error  {id, message}           the handler threw
//	ended  {id}                    the answer to end
//	tool   {id, call, name, args}  enqueueJob [input], getSessionSettings [id], getSessionSetting [id, key]
//	log    {id, level, fields?, message}
type incoming struct {
	Type          string            `json:"type"`
	ID            int               `json:"id"`
	Protocol      int               `json:"protocol"`
	Concurrency   int               `json:"concurrency"`
	Subscriptions []subscription    `json:"subscriptions"`
	Missing       []string          `json:"missing"`
	Code          string            `json:"code"`
	Message       string            `json:"message"`
	Value         json.RawMessage   `json:"value"`
	Call          int               `json:"call"`
	Name          string            `json:"name"`
	Args          []json.RawMessage `json:"args"`
	Level         string            `json:"level"`
	Fields        json.RawMessage   `json:"fields"`
}

type subscription struct {
	EventType string `json:"eventType"`
	Priority  *int   `json:"priority"`
	TimeoutMs int    `json:"timeoutMs"`
}

func (s subscription) public() extensions.Subscription {
	out := extensions.Subscription{EventType: s.EventType, TimeoutMs: s.TimeoutMs}
	if s.Priority != nil {
		out.Priority, out.HasPriority = *s.Priority, true
	}
	return out
}

// outgoing is every message to a child: load, invoke, answer and end.
type outgoing struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol,omitempty"`

	// load: the extension, its folder and the file with its handlers. script is the bundle made for the built-in Node
	// child; uses are the globals in it, because only the child knows which of them its Node has.
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Root    string   `json:"root,omitempty"`
	Entry   string   `json:"entry,omitempty"`
	Script  string   `json:"script,omitempty"`
	Uses    []string `json:"uses,omitempty"`

	// invoke: the handler (position in ready's subscriptions) and its event; settings reports whether the two getters
	// exist.
	ID           int             `json:"id,omitempty"`
	Subscription *int            `json:"subscription,omitempty"`
	Event        json.RawMessage `json:"event,omitempty"`
	Settings     bool            `json:"settings,omitempty"`

	// answer: to a tool call.
	Call  int             `json:"call,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *string         `json:"error,omitempty"`
}

// line returns the encoded message.
func (o outgoing) line() ([]byte, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return append(raw, '\n'), nil
}
