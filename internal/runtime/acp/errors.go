package acp

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
)

// Codes of refusals.
const (
	codeUnknownMethod = -32601
	codeInvalidParams = -32602
	codeAuthRequired  = -32000
	codeNotFound      = -32002
)

// error returns the refusal of the server's request.
func (r *refusal) error(p *Profile, method string) error {
	out := &runtime.Error{Runtime: p.Name, Method: method, Code: r.Code, Message: r.Message, Data: r.Data}
	var more struct {
		Details string `json:"details"`
	}
	if json.Unmarshal(r.Data, &more) == nil && more.Details != "" {
		out.Message += ": " + more.Details
	}
	said := strings.ToLower(r.Message + " " + string(r.Data))
	switch {
	case r.Code == codeAuthRequired:
		out.Kind = runtime.ErrAuthRequired
		if remedy := p.remedy(); remedy != "" {
			out.Message += "; " + remedy
		}
	case r.Code == codeNotFound, strings.Contains(said, "session not found"),
		strings.Contains(said, "no previous sessions"), strings.Contains(said, "no conversation found"),
		strings.Contains(said, "invalid session identifier"):
		out.Kind = runtime.ErrThreadNotFound
	case openElsewhere(out):
		out.Kind = runtime.ErrInvalidState
	case r.Code == codeUnknownMethod:
		out.Kind = runtime.ErrUnsupported
	case r.Code == codeInvalidParams:
		out.Kind = runtime.ErrInvalidParams
	}
	return out
}

// refuse returns the line that refuses a request that the server cannot decide.
func refuse(request runtime.Signal) ([]byte, error) {
	out := message{Version: "2.0", ID: request.RequestID}
	switch request.Method {
	case words.Permission:
		out.Result = cancelled()
	case words.Elicit:
		out.Result = json.RawMessage(`{"action":"cancel"}`)
	default:
		out.Error = refusal{Code: codeUnknownMethod, Message: fmt.Sprintf("this client does not offer %s", request.Method)}
	}
	return written(out)
}

func cancelled() json.RawMessage { return json.RawMessage(`{"outcome":{"outcome":"cancelled"}}`) }
