package tools_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"harness/internal/services/tools"
)

const (
	anyObject = `{"type":"object"}`
	pathInput = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`
)

func answering(output string) func(context.Context, tools.Job) (json.RawMessage, error) {
	return func(context.Context, tools.Job) (json.RawMessage, error) { return json.RawMessage(output), nil }
}

func tool(name string, class tools.Class) tools.Tool {
	return tools.Tool{Name: name, Description: "d", Class: class, Input: json.RawMessage(anyObject),
		Output: json.RawMessage(anyObject), Run: answering(`{}`)}
}

func registry(t *testing.T, all ...tools.Tool) *tools.Registry {
	t.Helper()
	r, err := tools.NewRegistry(tools.RegistryOptions{AllowDangerous: true, AllowNetwork: true}, all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TL-01, TL-11, TL-15: an invalid tool, or one of a disabled class, is not registered, and the error explains why.
func TestRegisteredTools(t *testing.T) {
	t.Parallel()
	changed := func(change func(*tools.Tool)) tools.Tool {
		one := tool("a.b", tools.Write)
		change(&one)
		return one
	}
	for name, c := range map[string]struct {
		all  []tools.Tool
		says string
	}{
		"good":           {[]tools.Tool{tool("a.b", tools.ReadOnly), tool("a.b_c", tools.Write)}, ""},
		"no namespace":   {[]tools.Tool{tool("read", tools.ReadOnly)}, "namespace"},
		"upper case":     {[]tools.Tool{tool("A.b", tools.ReadOnly)}, "namespace"},
		"twice":          {[]tools.Tool{tool("a.b", tools.ReadOnly), tool("a.b", tools.Write)}, "another tool"},
		"same to agents": {[]tools.Tool{tool("a.b_c", tools.ReadOnly), tool("a.b.c", tools.Write)}, "another tool"},
		"no class":       {[]tools.Tool{tool("a.b", "")}, `class "" is unknown`},
		"dangerous":      {[]tools.Tool{tool("a.b", tools.Dangerous)}, "switched on"},
		"network":        {[]tools.Tool{tool("a.b", tools.Network)}, "switched on"},
		"no description": {[]tools.Tool{changed(func(o *tools.Tool) { o.Description = "" })}, "description"},
		"no runner":      {[]tools.Tool{changed(func(o *tools.Tool) { o.Run = nil })}, "nothing runs it"},
		"no input":       {[]tools.Tool{changed(func(o *tools.Tool) { o.Input = nil })}, "input schema"},
		"no output": {[]tools.Tool{changed(func(o *tools.Tool) { o.Output = json.RawMessage(`{"type":"string"}`) })},
			"output schema"},
		"bad schema": {
			[]tools.Tool{changed(func(o *tools.Tool) { o.Input = json.RawMessage(`{"type":"object","required":1}`) })},
			"no JSON Schema"},
		"foreign schema": {[]tools.Tool{changed(func(o *tools.Tool) {
			o.Input = json.RawMessage(`{"type":"object","$ref":"file:///etc/passwd"}`)
		})}, "complete in itself"},
	} {
		_, err := tools.NewRegistry(tools.RegistryOptions{}, c.all...)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TL-01, TL-04: for the upstream daemon's schemas, the manifest has exactly its entries and hashes; a hash does not
// depend on the order of members.
func TestTheManifest(t *testing.T) {
	t.Parallel()
	var want tools.Manifest
	if err := json.Unmarshal(vectors(t, "tool_manifest")[0].Manifest, &want); err != nil {
		t.Fatal(err)
	}
	var all []tools.Tool
	for _, entry := range want.Tools {
		all = append(all, tools.Tool{Name: entry.Name, Description: entry.Description, Class: entry.Permission,
			Input: entry.InputSchema, Output: entry.OutputSchema, Run: answering(`{}`)})
	}
	if got := registry(t, all...).Manifest(); len(want.Tools) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("the manifest is %+v, want %+v", got, want)
	}
	one, other := tool("a.b", tools.Write), tool("a.c", tools.Write)
	one.Input = json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number","minimum":1.0}}}`)
	other.Input = json.RawMessage(
		`{ "properties":{"b":{"minimum":1,"type":"number"},"a":{"type":"string"}}, "type":"object" }`)
	entries := registry(t, one, other).Manifest().Tools
	if entries[0].SchemaHash != entries[1].SchemaHash {
		t.Errorf("the hashes %s and %s are of the same schema", entries[0].SchemaHash, entries[1].SchemaHash)
	}
}
