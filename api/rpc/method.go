package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"harness/api/rpc/wire"
)

// role is the role that a caller needs for a method.
type role string

const (
	roleViewer   role = "viewer"
	roleOperator role = "operator"
	roleAdmin    role = "admin"
)

// scope is the kind of object of a call.
type scope int

const (
	scopeServer scope = iota
	scopeSocket       // it needs a websocket
	scopeRuntime
)

// method is one row of the method table. Dispatch, validation, the registry's check and the OpenRPC document all use
// it.
type method struct {
	name, summary string
	params        []param
	result        schema
	role          role
	scope         scope
	// works means that the runtime method needs a running runtime.
	works bool
	// socket means that the runtime method needs a websocket.
	socket bool
	// check, when set, refuses invalid combinations of params before the server looks up the runtime.
	check  func(c *call) error
	handle func(ctx context.Context, c *call) (any, error)
}

// schema is a JSON Schema.
type schema map[string]any

// param is one member of params.
type param struct {
	name, kind, doc string
	required        bool
	oneOf           []string
	least, most     int64 // of an integer; most 0 means no limit
}

func text(name, doc string) param    { return param{name: name, kind: "string", doc: doc} }
func flag(name, doc string) param    { return param{name: name, kind: "boolean", doc: doc} }
func count(name, doc string) param   { return param{name: name, kind: "integer", doc: doc} }
func members(name, doc string) param { return param{name: name, kind: "object", doc: doc} }

// must makes a member required.
func (p param) must() param {
	p.required = true
	return p
}

// of sets the allowed strings.
func (p param) of(words ...string) param {
	p.oneOf = words
	return p
}

// schema returns the member's JSON Schema. agents are the allowed values of a member that names a runtime.
func (p param) schema(agents []string) schema {
	s := schema{"type": p.kind, "description": p.doc}
	switch {
	case p.name == agentField && len(agents) > 0:
		s["enum"] = agents
	case p.oneOf != nil:
		s["enum"] = p.oneOf
	}
	if p.kind == "integer" {
		s["minimum"] = p.least
		if p.most > 0 {
			s["maximum"] = p.most
		}
	}
	return s
}

// check validates a member. null counts as absent.
func (p param) check(raw json.RawMessage) (any, *wire.Error) {
	wrong := func(reason string) *wire.Error { return invalidParams(p.name, reason, p.name+" "+reason) }
	var (
		value any
		err   error
	)
	switch p.kind {
	case "string":
		var s string
		err = json.Unmarshal(raw, &s)
		value = s
		if err == nil && p.oneOf != nil && s != "" && !slices.Contains(p.oneOf, s) {
			return nil, wrong("must be one of: " +
				strings.Join(slices.DeleteFunc(slices.Clone(p.oneOf), func(w string) bool { return w == "" }), ", "))
		}
	case "boolean":
		var b bool
		err = json.Unmarshal(raw, &b)
		value = b
	case "integer":
		var n int64
		err = json.Unmarshal(raw, &n)
		value = n
		if err == nil && n < p.least {
			return nil, wrong(fmt.Sprintf("must be at least %d", p.least))
		}
	default:
		var o map[string]json.RawMessage
		err = json.Unmarshal(raw, &o)
		value = o
	}
	if err != nil {
		article := "a "
		if strings.ContainsRune("aio", rune(p.kind[0])) {
			article = "an "
		}
		return nil, wrong("must be " + article + p.kind)
	}
	return value, nil
}

// read validates params in this order: an object, required members, then every member. Unknown ones are ignored.
func (m *method) read(raw json.RawMessage) (map[string]any, *wire.Error) {
	given := map[string]json.RawMessage{}
	if len(raw) > 0 && string(raw) != "null" && json.Unmarshal(raw, &given) != nil {
		return nil, invalidParams("params", "must be an object", "params must be an object")
	}
	params := map[string]any{}
	for _, p := range m.params {
		if value, there := given[p.name]; p.required && (!there || string(value) == "null" || string(value) == `""`) {
			return nil, invalidParams(p.name, "required", p.name+" is required")
		}
	}
	for _, p := range m.params {
		value, there := given[p.name]
		if !there || string(value) == "null" {
			continue
		}
		read, refused := p.check(value)
		if refused != nil {
			return nil, refused
		}
		if s, is := read.(string); is && p.required && strings.TrimSpace(s) == "" {
			return nil, invalidParams(p.name, "required", p.name+" is required")
		}
		params[p.name] = read
	}
	return params, nil
}
