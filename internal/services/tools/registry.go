package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry has the available tools: fixed ones, and others that are replaced as a whole (Use).
type Registry struct {
	options RegistryOptions
	fixed   []registered
	all     atomic.Pointer[[]registered]
}

type registered struct {
	Tool
	input, output schema
}

// RegistryOptions define which tools may be registered.
type RegistryOptions struct {
	// AllowDangerous allows tools that run programs.
	AllowDangerous bool
	// AllowNetwork allows tools that access other machines.
	AllowNetwork bool
}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`) })

// WireName returns a tool's name for agents, which support only letters, digits, "_" and "-".
func WireName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// NewRegistry checks the tools and reports all errors at once.
func NewRegistry(options RegistryOptions, all ...Tool) (*Registry, error) {
	r := &Registry{options: options}
	var err error
	r.fixed, err = r.with(all)
	r.all.Store(&r.fixed)
	return r, err
}

// Check reports errors in tools to add to the fixed ones.
func (r *Registry) Check(others ...Tool) error {
	_, err := r.with(others)
	return err
}

// Use replaces the tools that are not fixed; if one is invalid, nothing changes. Earlier calls keep their tool.
func (r *Registry) Use(others ...Tool) error {
	all, err := r.with(others)
	if err == nil {
		r.all.Store(&all)
	}
	return err
}

// Set returns a value that changes only with the tools.
func (r *Registry) Set() any { return r.all.Load() }

// with returns the fixed tools and others, checked.
func (r *Registry) with(others []Tool) ([]registered, error) {
	all := slices.Clone(r.fixed)
	var errs []error
	for _, tool := range others {
		one, err := register(r.options, tool)
		if err == nil && slices.ContainsFunc(all, func(other registered) bool {
			return WireName(other.Name) == WireName(tool.Name)
		}) {
			err = errors.New("another tool has this name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", tool.Name, err))
			continue
		}
		all = append(all, one)
	}
	return all, errors.Join(errs...)
}

func register(options RegistryOptions, tool Tool) (registered, error) {
	one := registered{Tool: tool}
	switch {
	case !toolName().MatchString(tool.Name):
		return one, errors.New(`a name has a namespace, as "workspace.read", in lower case`)
	case tool.Description == "":
		return one, errors.New("a model needs a description")
	case !slices.Contains(Classes(), tool.Class):
		return one, fmt.Errorf("class %q is unknown; there are %v", tool.Class, Classes())
	case tool.Class == Dangerous && !options.AllowDangerous:
		return one, errors.New("tools of class dangerous are off unless they are switched on")
	case tool.Class == Network && !options.AllowNetwork:
		return one, errors.New("tools of class network are off unless they are switched on")
	case tool.Run == nil:
		return one, errors.New("nothing runs it")
	}
	var err, outputErr error
	one.input, err = compileSchema("input schema", tool.Input)
	one.output, outputErr = compileSchema("output schema", tool.Output)
	return one, errors.Join(err, outputErr)
}

// find returns a tool by its own or its wire name.
func (r *Registry) find(name string) (registered, bool) {
	tools := *r.all.Load()
	i := slices.IndexFunc(tools, func(t registered) bool { return t.Name == name || WireName(t.Name) == name })
	if i < 0 {
		return registered{}, false
	}
	return tools[i], true
}

// Tools lists the tools in the order they were registered.
func (r *Registry) Tools() []Tool {
	tools := *r.all.Load()
	all := make([]Tool, 0, len(tools))
	for _, one := range tools {
		all = append(all, one.Tool)
	}
	return all
}

// Find returns a tool by its own or its wire name.
func (r *Registry) Find(name string) (Tool, bool) {
	one, found := r.find(name)
	return one.Tool, found
}

// Manifest describes the tools of an agent.
type Manifest struct {
	Tools []Entry `json:"tools"`
}

// Entry is a tool in a Manifest. The hashes are of the canonical schemas.
type Entry struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	InputSchema      json.RawMessage `json:"input_schema"`
	SchemaHash       string          `json:"schema_hash"`
	OutputSchema     json.RawMessage `json:"output_schema"`
	OutputSchemaHash string          `json:"output_schema_hash"`
	Permission       Class           `json:"permission"`
}

// Manifest describes all tools.
func (r *Registry) Manifest() Manifest {
	tools := *r.all.Load()
	m := Manifest{Tools: make([]Entry, 0, len(tools))}
	for _, t := range tools {
		m.Tools = append(m.Tools, Entry{t.Name, t.Description, t.Input, t.input.hash, t.Output, t.output.hash, t.Class})
	}
	return m
}
