package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/runtime/wire"
)

// tool is an open tool call.
type tool struct {
	ID   string `json:"id"`
	Item string `json:"item"` // "" before its publication
	// Type is the type of its item.
	Type  string `json:"type,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Title string `json:"title,omitempty"`
	Name  string `json:"name,omitempty"`
	MCP   bool   `json:"mcp,omitempty"`
	// Ran is its name while it ran, if that is Profile.RefusedAs.
	Ran    string          `json:"ran,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Edits  []edit          `json:"edits,omitempty"`
	Paths  []string        `json:"paths,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Exit   *int            `json:"exit,omitempty"`
	// Declined means that it did not run because a user or a rule refused it.
	Declined bool `json:"declined,omitempty"`
	// images are its images, set only during the processing of their line.
	images []wire.Picture
	// growingText is its output.
	growingText
}

// onlyPutsOut reports whether an update contains only output of a call with published deltas.
func (u *update) onlyPutsOut(of *tool) bool {
	return u.Kind == "tool_call_update" && u.Meta.Terminal.Data != "" && (u.Status == "" || u.Status == "in_progress") &&
		(u.Title == "" || u.Title == of.Title) && (u.ToolKind == "" || u.ToolKind == of.Kind) &&
		(u.Name == "" || u.Name == of.Name) && u.Meta.Claude.Tool == "" && u.Meta.Claude.NotExecuted == "" &&
		u.Meta.Exit.Code == nil && u.Meta.MCP == of.MCP && len(u.Locations) == 0 && !meaningful(u.RawInput) &&
		!meaningful(u.RawOutput) && !meaningful(u.Content)
}

// edit is a change of one file.
type edit struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Diff string `json:"diff"`
}

// toolContent is a part of a tool call's content.
type toolContent struct {
	Type    string  `json:"type"`
	Content block   `json:"content"`
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
}

// merge applies an update to a call, at the end of its line, and returns the text it added to the live output.
func (t *tool) merge(u *update, p *Profile, end int64) (added string) {
	t.Kind, t.Title = cmp.Or(u.ToolKind, t.Kind), bounds(cmp.Or(u.Title, t.Title), maxText)
	t.Name = bounds(cmp.Or(u.Meta.Claude.Tool, u.Name, t.Name, p.nameIn(u.ToolCallID)), maxText)
	t.MCP = t.MCP || u.Meta.MCP
	if u.Status == "in_progress" && u.Title != "" && u.Title == p.RefusedAs {
		t.Ran = u.Title
	}
	if meaningful(u.RawInput) {
		t.Input = bounded(u.RawInput)
	}
	if meaningful(u.RawOutput) {
		t.Result = bounded(u.RawOutput)
	}
	if u.Meta.Exit.Code != nil {
		t.Exit = u.Meta.Exit.Code
	}
	t.Declined = t.Declined || u.Meta.Claude.NotExecuted != ""
	for _, location := range u.Locations {
		if location.Path != "" && !slices.Contains(t.Paths, location.Path) && len(t.Paths) < maxTools {
			t.Paths = append(t.Paths, location.Path)
		}
	}
	return t.mergeOutput(u, t.mergeContents(u), end)
}

// mergeContents sets the edits and images of an update, and returns its text.
func (t *tool) mergeContents(u *update) (text string) {
	var contents []toolContent
	_ = json.Unmarshal(u.Content, &contents) // another type has none
	var edits []edit
	size := 0 // of the remembered part; the workspace shows the rest
	var images []wire.Picture
	var shown strings.Builder
	for _, c := range contents {
		switch c.Type {
		case "diff":
			if one := editOf(c, u.ToolKind == "delete"); size+len(one.Diff)+len(one.Path) <= maxDiff {
				size += len(one.Diff) + len(one.Path) + 1
				edits = append(edits, one)
			}
		case "content":
			if c.Content.Data != "" && ended(u.Status) {
				images = append(images, wire.NewPicture(c.Content.Mime, c.Content.Data))
				continue
			}
			shown.WriteString(c.Content.shown())
		}
	}
	t.images = images
	if edits != nil {
		t.Edits = edits
	}
	return shown.String()
}

// mergeOutput sets the output of an update with this text, and returns the added part.
func (t *tool) mergeOutput(u *update, live string, end int64) (added string) {
	switch {
	case u.Meta.Terminal.Data != "":
		added = u.Meta.Terminal.Data
		if t.add(added, maxOutput); t.From == 0 {
			t.keep(end, maxOutput)
		}
	case live != "" && u.Status == "in_progress" && t.Kind == kindExecute:
		if rest, goesOn := strings.CutPrefix(live, t.last(maxOutput)); goesOn {
			added = rest
			t.set(tail(live))
		}
	case live != "" && ended(u.Status):
		t.set(tail(live))
	}
	return added
}

func ended(status string) bool { return status == "completed" || status == "failed" }

// meaningful reports whether a value has content.
func meaningful(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", `""`:
		return false
	}
	return true
}

// kindExecute is the kind of calls that run a command; kindsOfEdits are the kinds that change files.
const kindExecute = "execute"

func changesFiles(kind string) bool { return kind == "edit" || kind == "delete" || kind == "move" }

// known reports whether the call's purpose is clear by now.
func (t *tool) known() bool {
	switch {
	case t.Kind == kindExecute && !t.MCP:
		return t.command() != ""
	case changesFiles(t.Kind):
		return len(t.Edits) > 0 || len(t.Paths) > 0
	}
	return t.Input != nil
}

// command returns the command of a call, "" if its arguments have none.
func (t *tool) command() string {
	var in struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
	}
	_ = json.Unmarshal(t.Input, &in) // arguments of another shape have no command
	for _, raw := range []json.RawMessage{in.Command, in.Cmd} {
		var words []string
		if text := wire.Text(raw); text != "" {
			return text
		}
		if json.Unmarshal(raw, &words) == nil && len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// cwd returns the folder of a command, if the arguments have it.
func (t *tool) cwd(fallback string) string {
	var in struct {
		Cwd json.RawMessage `json:"cwd"`
	}
	_ = json.Unmarshal(t.Input, &in) // arguments of another shape have none
	return cmp.Or(wire.Text(in.Cwd), fallback)
}

// called returns the server and the name of a tool, and its arguments.
func (t *tool) called(p *Profile) (server, name string, arguments json.RawMessage) {
	var in struct {
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if t.MCP && json.Unmarshal(t.Input, &in) == nil && in.Tool != "" {
		return in.Server, in.Tool, in.Arguments
	}
	name = cmp.Or(t.Name, t.Title, t.Kind, "tool")
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			return server, tool, t.Input
		}
	}
	if rest, ok := strings.CutPrefix(name, "mcp_"); ok && p.ToolNameInID {
		if server, tool, ok := strings.Cut(rest, "_"); ok {
			return server, tool, t.Input
		}
	}
	arguments = t.Input
	if arguments == nil && t.Title != "" { // the only arguments of some agents
		arguments, _ = json.Marshal(map[string]string{"title": t.Title})
	}
	return p.Name, name, arguments
}

// isOf reports whether a call is for a tool of some MCP servers. A title alone may be text of the model.
func (t *tool) isOf(p *Profile, servers []string) bool {
	if t.Name == "" && !t.MCP {
		return false
	}
	named := *t
	named.Title, named.Kind = "", ""
	of, _, _ := named.called(p)
	return slices.Contains(servers, of)
}

// shownAs returns the item type of a call.
func (t *tool) shownAs() string {
	switch {
	case t.Kind == kindExecute && !t.MCP:
		return wire.ItemCommand
	case changesFiles(t.Kind):
		return wire.ItemFileChange
	}
	return wire.ItemToolCall
}

// fileEdits returns the changes of a call; those without a diff have only their paths.
func (t *tool) fileEdits() (edits []wire.FileEdit) {
	for _, e := range t.Edits {
		edits = append(edits, wire.FileEdit{Path: e.Path, Kind: e.Kind, Diff: e.Diff})
	}
	if edits != nil {
		return edits
	}
	kind := "update"
	if t.Kind == "delete" {
		kind = "delete"
	}
	for _, path := range t.Paths {
		edits = append(edits, wire.FileEdit{Path: path, Kind: kind})
	}
	return edits
}

// item returns the call's item with a status.
func (t *tool) item(p *Profile, cwd, status string) any {
	over := status != wire.StatusInProgress
	switch t.Type {
	case wire.ItemCommand:
		command := wire.Command{ID: t.Item, Command: cmp.Or(t.command(), t.Title), Cwd: t.cwd(cwd), Status: status}
		if over {
			output := t.output()
			command.Output, command.ExitCode = &output, t.exitCode()
		}
		return command
	case wire.ItemFileChange:
		return wire.FileChange(t.Item, status, t.fileEdits()...)
	}
	server, name, arguments := t.called(p)
	call := wire.ToolCall{ID: t.Item, Server: server, Tool: name, Status: status, Arguments: arguments}
	if over {
		if status == wire.StatusCompleted {
			call.Result = wire.ToolResult(t.output(), t.images...)
		} else {
			call.Error, _ = json.Marshal(map[string]string{"message": t.output()})
		}
	}
	return call
}

// output returns the output of a call: the agent's report of it, otherwise the displayed part.
func (t *tool) output() string {
	if text := wire.Text(t.Result); text != "" {
		return text
	}
	var out struct {
		Output json.RawMessage `json:"output"`
		Error  json.RawMessage `json:"error"`
		Result struct {
			Content []block `json:"content"`
		} `json:"result"`
	}
	_ = json.Unmarshal(t.Result, &out) // a result of another shape stays as displayed
	var said strings.Builder
	for _, b := range out.Result.Content {
		said.WriteString(b.shown())
	}
	return cmp.Or(wire.Text(out.Output), wire.Text(out.Error), said.String(), t.last(maxOutput))
}

// exitCode returns the exit code of a command, nil if unknown.
func (t *tool) exitCode() *int {
	var out struct {
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
		ExitCode *int `json:"exitCode"`
	}
	_ = json.Unmarshal(t.Result, &out) // a result of another shape has none
	return cmp.Or(t.Exit, out.Metadata.Exit, out.ExitCode)
}

// bounds returns the beginning of a text that is too long, in whole characters.
func bounds(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// tail returns the end of an output that is too long.
func tail(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-maxOutput:], "")
}
