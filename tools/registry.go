package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Registry is what tools there are. It does not change.
type Registry struct {
	tools []registered
}

type registered struct {
	Tool
	input, output schema
}

// RegistryOptions say what may be registered.
type RegistryOptions struct {
	// AllowDangerous lets tools in that run programs.
	AllowDangerous bool
	// AllowNetwork lets tools in that talk to other machines.
	AllowNetwork bool
}

var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`) })

// WireName is a tool's name for agents, which know letters, digits, "_" and "-" only.
func WireName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// NewRegistry checks the tools. All that is wrong is told at once.
func NewRegistry(options RegistryOptions, all ...Tool) (*Registry, error) {
	r := &Registry{}
	var errs []error
	for _, tool := range all {
		one, err := register(options, tool)
		if err == nil && slices.ContainsFunc(r.tools, func(other registered) bool {
			return WireName(other.Name) == WireName(tool.Name)
		}) {
			err = errors.New("another tool has this name")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", tool.Name, err))
			continue
		}
		r.tools = append(r.tools, one)
	}
	return r, errors.Join(errs...)
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

// find is a tool by its name, ours or the one agents know.
func (r *Registry) find(name string) (registered, bool) {
	i := slices.IndexFunc(r.tools, func(t registered) bool { return t.Name == name || WireName(t.Name) == name })
	if i < 0 {
		return registered{}, false
	}
	return r.tools[i], true
}

// Tools lists the tools in the order they were registered.
func (r *Registry) Tools() []Tool {
	all := make([]Tool, 0, len(r.tools))
	for _, one := range r.tools {
		all = append(all, one.Tool)
	}
	return all
}

// Find is a tool by its name, ours or the one agents know.
func (r *Registry) Find(name string) (Tool, bool) {
	one, found := r.find(name)
	return one.Tool, found
}

// Manifest describes the tools an agent was given.
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
	m := Manifest{Tools: make([]Entry, 0, len(r.tools))}
	for _, t := range r.tools {
		m.Tools = append(m.Tools, Entry{t.Name, t.Description, t.Input, t.input.hash, t.Output, t.output.hash, t.Class})
	}
	return m
}
