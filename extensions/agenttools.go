package extensions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Tool is a tool for agents: the manifest of an extension declares it, and one of the extension's handlers runs it.
type Tool struct {
	// Extension is the manifest's name. Name has a namespace; Class says what the tool may do (see package tools).
	Extension, Name, Description, Class string
	// Input and Output are JSON Schemas of objects.
	Input, Output json.RawMessage
	Timeout       time.Duration
	// Run calls the handler in the tool's own set of extensions, and fails once another set is active. It returns the
	// handler's error.
	Run func(ctx context.Context, call ToolCall) (json.RawMessage, error)

	handler string
}

// ToolCall is a call of a Tool.
type ToolCall struct {
	SessionID, TurnID string
	// Workspace is the folder of the session.
	Workspace string
	Input     json.RawMessage
}

// AgentTools offers the tools of extensions to agents.
type AgentTools interface {
	// Gives reports whether an extension, named as in its manifest, may offer tools.
	Gives(extension string) bool
	// Check validates the whole set of tools.
	Check(all []Tool) error
	// Use replaces the extensions' tools with another, checked set. It must not block.
	Use(all []Tool)
}

// toolEvent is the prefix of the event that a tool's handler subscribes to if the manifest names none.
const toolEvent = "tool."

// errReloaded ends a call of a tool that a reload replaced.
var errReloaded = errors.New("the extension was reloaded or unloaded since the call was made; nothing was run, call it again")

// declaredTools reads the tools of a manifest. It ignores no member, because the rights of a tool depend on every
// member.
func declaredTools(extension string, raw json.RawMessage) ([]Tool, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Class       string          `json:"class"`
		Input       json.RawMessage `json:"input"`
		Output      json.RawMessage `json:"output"`
		Handler     string          `json:"handler"`
		TimeoutMs   int             `json:"timeoutMs"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf(`tools is no list of {"name", "class", "description", "input", "output", "handler", `+
			`"timeoutMs"}: %w`, err)
	}
	var all []Tool
	for _, one := range list {
		tool := Tool{Extension: extension, Name: one.Name, Description: one.Description, Class: one.Class, Input: one.Input,
			Output: one.Output, Timeout: defaultTimeout, handler: one.Handler}
		for _, schema := range []*json.RawMessage{&tool.Input, &tool.Output} {
			if len(*schema) == 0 {
				*schema = json.RawMessage(`{"type":"object"}`)
			}
		}
		if tool.handler == "" {
			tool.handler = toolEvent + one.Name
		}
		if one.TimeoutMs < 0 {
			return nil, fmt.Errorf("tool %q: timeoutMs is %d", one.Name, one.TimeoutMs)
		}
		if one.TimeoutMs > 0 {
			tool.Timeout = time.Duration(one.TimeoutMs) * time.Millisecond
		}
		all = append(all, tool)
	}
	return all, nil
}

// handled returns an error if a tool has no handler among the events of an extension.
func handled(tools []Tool, events []string) error {
	for _, tool := range tools {
		if !slices.Contains(events, tool.handler) {
			return fmt.Errorf("tool %q has no handler: nothing is registered for %q", tool.Name, tool.handler)
		}
	}
	return nil
}

// checkTools refuses extensions whose tools conflict with those of earlier extensions.
func (r *Registry) checkTools(modules []loaded) (fit, refused []loaded, problems []*LoadError) {
	var before []Tool
	for _, m := range modules {
		all := slices.Concat(before, m.tools)
		if len(m.tools) > 0 {
			for i := range all {
				all[i].Run = func(context.Context, ToolCall) (json.RawMessage, error) { return nil, errReloaded }
			}
			if err := r.opts.AgentTools.Check(all); err != nil {
				problems = append(problems, &LoadError{Extension: m.info.Name, Code: InvalidManifest, Message: err.Error()})
				refused = append(refused, m)
				continue
			}
		}
		before, fit = all, append(fit, m)
	}
	return fit, refused, problems
}

// toolsOf returns the tools of a snapshot; they run only in that snapshot.
func (r *Registry) toolsOf(s *snapshot, modules []loaded) []Tool {
	var all []Tool
	for _, m := range modules {
		for _, tool := range m.tools {
			b := slices.IndexFunc(s.byEvent[tool.handler], func(b binding) bool { return b.module == m.module })
			if b < 0 {
				continue // admit refuses this module
			}
			run := s.byEvent[tool.handler][b]
			run.timeout = tool.Timeout
			tool.Run = func(ctx context.Context, call ToolCall) (json.RawMessage, error) {
				return r.runTool(ctx, s, &run, tool, call)
			}
			all = append(all, tool)
		}
	}
	return all
}

// runTool runs a tool's handler. The handler's set stays open until the handler ends.
func (r *Registry) runTool(ctx context.Context, s *snapshot, b *binding, tool Tool, call ToolCall) (json.RawMessage,
	error) {
	if !s.acquire() {
		return nil, errReloaded
	}
	defer s.release()
	if r.active.Load() != s {
		return nil, errReloaded
	}
	event := &Event{Type: tool.handler, Payload: encode(struct {
		Tool      string          `json:"tool"`
		SessionID string          `json:"sessionId"`
		TurnID    string          `json:"turnId"`
		Workspace string          `json:"workspace"`
		Input     json.RawMessage `json:"input"`
	}{tool.Name, call.SessionID, call.TurnID, call.Workspace, call.Input})}
	e := &emission{registry: r, event: event, scope: Scope{SessionID: call.SessionID, TurnID: call.TurnID}}
	raw, err := e.invoke(ctx, b)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil && object != nil {
		return raw, nil
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	return encode(map[string]json.RawMessage{"output": raw}), nil
}
