// Package wire implements JSON-RPC 2.0 without a transport. It parses messages and batches, executes every request
// through a callback and builds the responses.
//
// It owns the definition of a request and the errors of malformed ones. It must never know what a method does.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"harness/internal/lib/javascript"
)

// The error codes of JSON-RPC 2.0.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// MaxBatch is the maximum number of messages in a batch.
const MaxBatch = 100

// Error is the error of a response.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Request is one call. ID is raw, or nil for a notification, which gets no response. Params is nil if the request has
// none.
type Request struct {
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Batched bool
}

// Notification reports whether a request gets no response.
func (r Request) Notification() bool { return r.ID == nil }

// message is the parsed input: requests, or the errors of malformed ones.
type message struct {
	batch bool
	parts []part
}

type part struct {
	request Request
	refused *Error
}

func invalid(reason string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "Invalid request: " + reason}
}

// read parses a message.
func read(text []byte) message {
	if !json.Valid(text) {
		return message{parts: []part{{refused: &Error{Code: CodeParse, Message: "Parse error: the message is not JSON"}}}}
	}
	text = bytes.TrimSpace(text)
	if text[0] != '[' {
		return message{parts: []part{readPart(text)}}
	}
	var parts []json.RawMessage
	_ = json.Unmarshal(text, &parts) // it is a JSON array
	switch {
	case len(parts) == 0:
		return message{parts: []part{{refused: invalid("the batch is empty")}}}
	case len(parts) > MaxBatch:
		return message{parts: []part{{refused: invalid(fmt.Sprintf("a batch has at most %d messages", MaxBatch))}}}
	}
	m := message{batch: true, parts: make([]part, len(parts))}
	for i, one := range parts {
		m.parts[i] = readPart(one)
		m.parts[i].request.Batched = true
	}
	return m
}

// readPart parses one message. Members are matched exactly and unknown ones ignored.
func readPart(text json.RawMessage) (p part) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		p.refused = invalid("a message is an object")
		return p
	}
	if id, given := members["id"]; given {
		if id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
			p.refused = invalid("id is a string, a number or null")
			return p
		}
		p.request.ID = id
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		p.refused = invalid(`jsonrpc is not "2.0"`)
		return p
	}
	method, given := members["method"]
	if !given || method[0] != '"' || json.Unmarshal(method, &p.request.Method) != nil {
		p.refused = invalid("method is not a string")
		return p
	}
	p.request.Params = members["params"]
	return p
}

// answer is a response on the wire; it has either Result or Error.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Result returns the response to a successful request.
func Result(id json.RawMessage, result any) json.RawMessage {
	encoded, err := javascript.Encode(result)
	if err != nil {
		return Failure(id, &Error{Code: CodeInternal, Message: "Internal error"})
	}
	return whole(answer{ID: id, Result: encoded})
}

// Failure returns the response to a failed request. A nil id becomes null.
func Failure(id json.RawMessage, failed *Error) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	return whole(answer{ID: id, Error: failed})
}

func whole(a answer) json.RawMessage {
	a.Version = "2.0"
	encoded, err := javascript.Encode(a)
	if err != nil { // the data of an error of this server
		return json.RawMessage(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}`)
	}
	return encoded
}

// Notice is a notification.
func Notice(method string, params any) json.RawMessage {
	return javascript.MustEncode(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}
