package api

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/api/schema"
	"harness/runtime"
)

// Runtime is what the routes about the provider alone need. runtime.Adapter implements it.
type Runtime interface {
	// Call passes a provider request through; params nil sends none.
	Call(ctx context.Context, method string, params any) (json.RawMessage, error)
}

// call is Runtime.Call where there may be no runtime.
func (s *server) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if s.Runtime == nil {
		return nil, fmt.Errorf("%w: this server was started without one", runtime.ErrUnavailable)
	}
	return s.Runtime.Call(ctx, method, params)
}

// paramsFunc makes a provider's params of a request.
type paramsFunc func(in *input) any

// noParams sends none: codex refuses even an empty object where it expects nothing.
func noParams(*input) any { return nil }

// ofBody sends the validated body.
func ofBody(in *input) any {
	if !in.body.Defined() {
		return schema.ObjectValue()
	}
	return in.body
}

// ofQuery sends the validated query, its flags as booleans.
func ofQuery(in *input) any {
	members := make([]schema.Member, 0, len(in.query.Members()))
	for _, member := range in.query.Members() {
		switch member.Name {
		case "forceRefetch", "forceReload", "includeLayers":
			member.Value = schema.BoolValue(member.Value.Text() == "true")
		}
		members = append(members, member)
	}
	return schema.ObjectValue(members...)
}

// passList answers with a provider's page; what has no further page says null.
func (s *server) passList(method string, params paramsFunc) func(context.Context, *input) (reply, error) {
	return func(ctx context.Context, in *input) (reply, error) {
		result, err := s.call(ctx, method, params(in))
		if err != nil {
			return reply{}, err
		}
		var page struct {
			Data       json.RawMessage `json:"data"`
			NextCursor json.RawMessage `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return reply{}, fmt.Errorf("%s answered with no page: %w", method, err)
		}
		if page.Data == nil {
			page.Data = json.RawMessage("[]")
		}
		return ok(page)
	}
}

// passPlain answers with the provider's result as it is.
func (s *server) passPlain(method string, params paramsFunc) func(context.Context, *input) (reply, error) {
	return func(ctx context.Context, in *input) (reply, error) {
		result, err := s.call(ctx, method, params(in))
		if err != nil {
			return reply{}, err
		}
		return ok(result)
	}
}

type resultBody struct {
	Status    string          `json:"status"`
	SessionID string          `json:"sessionId,omitempty"`
	Result    json.RawMessage `json:"result"`
}

// passResult wraps the provider's result.
func (s *server) passResult(method string, params paramsFunc) func(context.Context, *input) (reply, error) {
	return func(ctx context.Context, in *input) (reply, error) {
		result, err := s.call(ctx, method, params(in))
		if err != nil {
			return reply{}, err
		}
		return ok(resultBody{Status: "ok", Result: result})
	}
}

// about words details that name one member of the body beside the method.
func about(name string) func(string, *input) any {
	return func(method string, in *input) any {
		return schema.ObjectValue(
			schema.Member{Name: "method", Value: schema.StringValue(method)}, schema.Member{Name: name, Value: in.body.Get(name)})
	}
}
