package compat

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/api/rest"
	"harness/api/schema"
)

// paramsFunc builds a provider's params from a request.
type paramsFunc func(in *rest.Input) any

// noParams omits params, because codex refuses even an empty object where it expects none.
func noParams(*rest.Input) any { return nil }

// ofBody sends the validated body.
func ofBody(in *rest.Input) any {
	if !in.Body.Defined() {
		return schema.ObjectValue()
	}
	return in.Body
}

// ofQuery sends the validated query, with flags as booleans.
func ofQuery(in *rest.Input) any {
	members := make([]schema.Member, 0, len(in.Query.Members()))
	for _, member := range in.Query.Members() {
		switch member.Name {
		case "forceRefetch", "forceReload", "includeLayers":
			member.Value = schema.BoolValue(member.Value.Text() == "true")
		}
		members = append(members, member)
	}
	return schema.ObjectValue(members...)
}

// passList returns a provider's page; without a next page, the cursor is null.
func (m *Mount) passList(method string, params paramsFunc) func(context.Context, *rest.Input) (rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		result, err := m.call(ctx, method, params(in))
		if err != nil {
			return rest.Reply{}, err
		}
		var page struct {
			Data       json.RawMessage `json:"data"`
			NextCursor json.RawMessage `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return rest.Reply{}, fmt.Errorf("%s returned no page: %w", method, err)
		}
		if page.Data == nil {
			page.Data = json.RawMessage("[]")
		}
		return rest.OK(page)
	}
}

// passPlain returns the provider's result unchanged.
func (m *Mount) passPlain(method string, params paramsFunc) func(context.Context, *rest.Input) (rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		result, err := m.call(ctx, method, params(in))
		if err != nil {
			return rest.Reply{}, err
		}
		return rest.OK(result)
	}
}

type resultBody struct {
	Status string          `json:"status"`
	Result json.RawMessage `json:"result"`
}

// passResult wraps the provider's result.
func (m *Mount) passResult(method string, params paramsFunc) func(context.Context, *rest.Input) (rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		result, err := m.call(ctx, method, params(in))
		if err != nil {
			return rest.Reply{}, err
		}
		return rest.OK(resultBody{"ok", result})
	}
}

// about returns details with one member of the body and the method.
func about(name string) func(string, *rest.Input) any {
	return func(method string, in *rest.Input) any {
		return schema.ObjectValue(
			schema.Member{Name: "method", Value: schema.StringValue(method)},
			schema.Member{Name: name, Value: in.Body.Get(name)})
	}
}
