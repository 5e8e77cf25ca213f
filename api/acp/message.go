package acp

import (
	"encoding/json"

	"harness/internal/lib/javascript"
)

// Error codes of the protocol.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNotOffered     = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeLogin          = -32000
	codeForbidden      = -32001
	codeNotFound       = -32002
)

// message is what a client sends: a request, a notification (no ID), or an answer (no Method).
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// failure is the error of an answer.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (f *failure) Error() string { return f.Message }

func invalid(message string) *failure { return &failure{Code: codeInvalidParams, Message: message} }

const version = "2.0"

// answer encodes the answer to a request; failed is nil for a result.
func answer(id json.RawMessage, result any, failed *failure) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	if failed != nil {
		return javascript.MustEncode(struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   *failure        `json:"error"`
		}{version, id, failed})
	}
	return javascript.MustEncode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{version, id, result})
}

// request encodes a request of this server. Its id is that of the stored request, so an answer names what it decides.
// Without an id it is a notification.
func request(id, method string, params any) []byte {
	return javascript.MustEncode(struct {
		Version string `json:"jsonrpc"`
		ID      string `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{version, id, method, params})
}

// object is an object of the protocol whose members are few or optional.
type object = map[string]any
