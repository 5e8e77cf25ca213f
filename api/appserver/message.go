package appserver

import (
	"encoding/json"

	"harness/internal/lib/javascript"
)

// Error codes of the protocol.
const (
	codeInvalidRequest = -32600
	codeNotOffered     = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeForbidden      = -32001
)

// message is what a client sends: a request, a notification (no ID), or an answer (no Method). The protocol has no
// member jsonrpc.
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

func invalid(message string) *failure {
	return &failure{Code: codeInvalidParams, Message: message}
}

// answer encodes the answer to a request; failed is nil for a result.
func answer(id json.RawMessage, result any, failed *failure) []byte {
	if failed != nil {
		return javascript.MustEncode(struct {
			ID    json.RawMessage `json:"id"`
			Error *failure        `json:"error"`
		}{id, failed})
	}
	return javascript.MustEncode(struct {
		ID     json.RawMessage `json:"id"`
		Result any             `json:"result"`
	}{id, result})
}

// notification encodes a notification.
func notification(method string, params any) []byte {
	return javascript.MustEncode(struct {
		Method string `json:"method"`
		Params any    `json:"params"`
	}{method, params})
}

// request encodes a request of this server. Its id is that of the stored request, so an answer names what it decides.
func request(id, method string, params any) []byte {
	return javascript.MustEncode(struct {
		ID     string `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params"`
	}{id, method, params})
}

// object is an object of the protocol whose members are few or optional.
type object = map[string]any
