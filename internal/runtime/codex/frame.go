package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
)

// frame is one line of the app-server protocol: like JSON-RPC 2.0, without its version member.
type frame struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *rpcError
	// Layout has the places of method, params and id in the line.
	Layout runtime.Layout
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

type frameKind int

const (
	frameUnknown frameKind = iota
	frameNotification
	frameRequest
	frameResponse
)

func (f *frame) hasID() bool { return len(f.ID) > 0 && !bytes.Equal(f.ID, []byte("null")) }

func (f *frame) kind() frameKind {
	switch {
	case f.Method != "" && f.hasID():
		return frameRequest
	case f.Method != "":
		return frameNotification
	case f.hasID() && (f.Error != nil || len(f.Result) > 0):
		return frameResponse
	default:
		return frameUnknown
	}
}

// legacy reports whether a frame is one of the `codex/event/...` duplicates that 0.101 sends. The adapter drops them.
func (f *frame) legacy() bool { return strings.HasPrefix(f.Method, "codex/event/") }

// parseFrame reads a line. Params and result are slices of it, because they may be as long as the line.
func parseFrame(line []byte) (frame, error) {
	var f frame
	if !json.Valid(line) {
		return f, errors.New("not valid JSON")
	}
	var errs []error
	jsonobject.Each(line, 0, func(name []byte, start, end int) {
		value, at := line[start:end:end], runtime.Span{start, end}
		switch string(name) {
		case "id":
			f.ID, f.Layout.ID = bytes.Clone(value), at
		case "method":
			if f.Method, f.Layout.Method = wire.Text(value), at; f.Method == "" {
				errs = append(errs, errors.New("its method is no text"))
			}
		case "params":
			f.Params, f.Layout.Params = value, at
		case "result":
			f.Result = value
		case "error":
			errs = append(errs, json.Unmarshal(value, &f.Error))
		}
	})
	if bytes.Equal(f.Params, []byte("null")) {
		f.Params = nil
	}
	return f, errors.Join(errs...)
}

// encode writes one frame as a line, without HTML escaping, so that text reaches codex unchanged.
func encode(v any) ([]byte, error) {
	out, err := javascript.Encode(v)
	return append(out, '\n'), err
}

// outgoing is a frame to codex.
type outgoing struct {
	ID     any             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params any             `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// threadOf returns the thread of a request. Its answer changes the state of that thread.
func threadOf(params any) string {
	switch p := params.(type) {
	case object:
		id, _ := p["threadId"].(string)
		return id
	case json.RawMessage:
		var named ids
		_ = json.Unmarshal(p, &named)
		return runtime.KnownID(named.ThreadID)
	}
	return ""
}

// object is the params of a request.
type object map[string]any

// with sets a member when the value is not empty.
func (o object) with(key, value string) object {
	if value != "" {
		o[key] = value
	}
	return o
}

func (o object) withRaw(key string, value json.RawMessage) object {
	if len(value) > 0 {
		o[key] = value
	}
	return o
}
