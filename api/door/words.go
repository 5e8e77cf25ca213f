package door

import (
	"encoding/json"
	"time"

	"harness/internal/lib/javascript"
)

// Error codes of JSON-RPC 2.0; CodeForbidden is the doors' own.
const (
	CodeInvalidRequest = -32600
	CodeNotOffered     = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeForbidden      = -32001
)

// Message is what a client sends: a request, a notification (no ID), or an answer (no Method).
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Failure is the error of an answer.
type Failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Invalid is the failure of a request whose parameters are wrong.
func Invalid(message string) *Failure { return &Failure{Code: CodeInvalidParams, Message: message} }

// Failed is the failure of a message that a Desk does not carry out.
func (r Refusal) Failed(wait time.Duration) *Failure {
	switch r {
	case TooOften:
		return &Failure{Code: CodeInternal, Message: "Too many messages; send again in " + wait.Round(time.Second).String()}
	case TooMany:
		return &Failure{Code: CodeInternal, Message: "Too many requests of this client are in progress"}
	}
	return &Failure{Code: CodeInternal, Message: "The server is stopping; send again in a moment"}
}

// Words encodes messages of JSON-RPC 2.0. Its text is the member jsonrpc, which codex's protocol leaves out.
type Words string

// Answer encodes the answer to a request; failed is nil for a result. A nil id becomes null.
func (w Words) Answer(id json.RawMessage, result any, failed *Failure) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	if failed != nil {
		return javascript.MustEncode(struct {
			Version Words           `json:"jsonrpc,omitempty"`
			ID      json.RawMessage `json:"id"`
			Error   *Failure        `json:"error"`
		}{w, id, failed})
	}
	return javascript.MustEncode(struct {
		Version Words           `json:"jsonrpc,omitempty"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{w, id, result})
}

// Request encodes a request of this server. Its id is that of the stored request, so an answer names what it decides.
// Without an id it is a notification.
func (w Words) Request(id, method string, params any) []byte {
	return javascript.MustEncode(struct {
		Version Words  `json:"jsonrpc,omitempty"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{w, id, method, params})
}
