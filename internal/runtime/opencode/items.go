package opencode

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

const (
	// partReasoning is OpenCode's type of reasoning. The vocabulary uses the same word.
	partReasoning = wire.ItemReasoning
	// kindReasoning is the item.Tool of reasoning.
	kindReasoning = "(thought)"
	// maxDiff bounds conversation.Diff, in bytes.
	maxDiff = 64 << 10
	// longText is the number of bytes at each end of a long text that are compared: the remembered part.
	longText = maxDiff
)

// part handles a part of a message: the start, growth or end of an item.
func (t *translation) part(in *conversation, p part) {
	if slices.Contains(in.AwaitingText, p.MessageID) {
		if p.Type == "text" && !p.Synthetic && !p.Ignored {
			in.AwaitingText = slices.DeleteFunc(in.AwaitingText, func(id string) bool { return id == p.MessageID })
			t.user(in, p.MessageID, p.Text)
		} else if p.isPicture() {
			in.picture(p.MessageID, p.URL)
		}
		return
	}
	if p.MessageID == "" || p.MessageID != in.Message || slices.Contains(in.Done, p.ID) || !fit(p.ID, p.Tool) {
		return // of a completed message, or of no turn
	}
	switch p.Type {
	case "text", partReasoning:
		t.text(in, p)
	case "tool":
		t.tool(in, p)
	case "step-finish":
		in.Done = keepLast(in.Done, p.ID, maxDone)
		used := p.Tokens.wire()
		in.Used = in.Used.Plus(used)
		t.emit(wire.TokenUsage(in.in(), in.Base.Plus(in.Used), in.Used, 0))
	}
}

// isPicture reports whether a part is an image with its bytes.
func (p *part) isPicture() bool {
	return p.Type == "file" && strings.HasPrefix(p.Mime, "image/") && strings.HasPrefix(p.URL, "data:")
}

func (t *translation) text(in *conversation, p part) {
	open := in.find(p.ID)
	if open == nil {
		kind := ""
		if p.Type == partReasoning {
			kind = kindReasoning
		}
		open = t.add(in, item{ID: p.ID, Tool: kind, Begun: true})
		t.emit(wire.ItemStarted(in.in(), textItem(open, ""), t.at))
	}
	// The text of an open part also arrives as deltas, unless it is past.
	if p.Time.End != 0 || open.Stale || t.past {
		if added := open.newText(p.Text); added != "" {
			t.grow(in, open, added)
		}
	}
	if p.Time.End != 0 {
		t.emit(wire.ItemCompleted(in.in(), textItem(open, p.Text), t.at))
		in.over(p.ID)
	}
}

func textItem(open *item, text string) any {
	if open.Tool != kindReasoning {
		return wire.AgentMessage(open.ID, text)
	}
	if text == "" {
		return wire.Reasoning(open.ID, nil, nil)
	}
	return wire.Reasoning(open.ID, nil, []string{text})
}

// grow publishes the addition to an item's text.
func (t *translation) grow(in *conversation, open *item, added string) {
	switch open.Tool {
	case "":
		t.emit(wire.MessageDelta(in.in(), open.ID, added))
	case kindReasoning:
		t.emit(wire.ReasoningDelta(in.in(), open.ID, 0, added))
	default:
		t.emit(wire.CommandOutput(in.in(), open.ID, added))
	}
}

func (t *translation) delta(in *conversation, about said) {
	open := in.find(about.PartID)
	if open == nil || open.Stale || about.Field != "text" || about.Delta == "" || open.Tool != "" &&
		open.Tool != kindReasoning {
		return
	}
	open.notePublished(about.Delta)
	t.grow(in, open, about.Delta)
}

// tool handles a tool call.
func (t *translation) tool(in *conversation, p part) {
	open := in.find(p.ID)
	if open == nil {
		open = t.add(in, item{ID: p.ID, Call: runtime.KnownID(p.CallID), Tool: p.Tool})
	}
	over := p.State.Status == "completed" || p.State.Status == "error"
	if p.State.Status == "running" || over {
		t.begin(in, open, p.State)
	}
	if p.Tool == toolShell && !over {
		if added := open.newText(p.State.Metadata.Output); added != "" {
			t.grow(in, open, added)
		}
	}
	if over {
		if shown(p.Tool) {
			t.emit(wire.ItemCompleted(in.in(), toolItem(in, open, p.State), t.at))
		}
		if changesFiles(p.Tool) && p.State.Status == "completed" {
			t.changed(in, p)
		}
		in.over(p.ID)
	}
}

// changesFiles reports whether a tool is displayed as a file change.
func changesFiles(tool string) bool {
	return slices.Contains([]string{"edit", "write", "multiedit", "patch", "apply_patch"}, tool)
}

// changed publishes the changes of the turn so far, within bounds.
func (t *translation) changed(in *conversation, p part) {
	var input toolInput
	_ = json.Unmarshal(p.State.Input, &input) // as in toolItem
	if diff := wire.TurnDiff(in.Diff, in.Dir, edits(p.Tool, p.State, input)); len(diff) <= maxDiff {
		in.Diff = diff
		t.emit(wire.DiffUpdated(in.in(), diff))
	}
}

// begin publishes the start of a tool call, once.
func (t *translation) begin(in *conversation, open *item, now toolState) {
	if open.Begun {
		return
	}
	open.Begun = true
	if shown(open.Tool) {
		now.Status = "running"
		t.emit(wire.ItemStarted(in.in(), toolItem(in, open, now), t.at))
	}
}

const toolShell = "bash"

// shown reports whether a tool has items: questions and plans are published differently.
func shown(tool string) bool {
	return tool != "question" && tool != "todowrite" && tool != "todoread"
}

// saysDeclined reports whether a call's error is a refusal by a user or a rule. A server can miss the event with the
// answer; in that case only the message, read again, has the refusal.
func saysDeclined(text string) bool {
	return strings.HasPrefix(text, "The user rejected permission to use this") ||
		strings.HasPrefix(text, "The user has specified a rule which prevents")
}

func toolItem(in *conversation, open *item, now toolState) any {
	word := map[string]string{"running": "inProgress", "completed": "completed", "error": "failed"}[now.Status]
	if now.Status == "error" && (open.Declined || saysDeclined(now.Error)) {
		word = "declined"
	}
	if open.Tool == toolInvalid {
		return refusedItem(open, now, word)
	}
	var input toolInput
	_ = json.Unmarshal(now.Input, &input) // the decoder skips members of an unexpected type
	over := now.Status != "running"
	if open.Tool == toolShell {
		return shellItem(in, open, now, input, word, over)
	}
	if changesFiles(open.Tool) {
		return wire.FileChange(open.ID, word, edits(open.Tool, now, input)...)
	}
	server, tool := called(open.Tool)
	call := wire.ToolCall{ID: open.ID, Server: server, Tool: tool, Status: word, Arguments: now.Input}
	if now.Status == "completed" {
		call.Result = wire.ToolResult(now.Output, now.images()...)
	}
	if now.Status == "error" {
		call.Error = encoded(map[string]string{"message": now.Error})
	}
	return call
}

// toolInvalid is the tool that OpenCode runs instead of a refused call: an unknown tool or an invalid input.
const toolInvalid = "invalid"

// refusedItem returns such a call with the name of the model's tool.
func refusedItem(open *item, now toolState, word string) any {
	var call struct {
		Tool string `json:"tool"`
	}
	_ = json.Unmarshal(now.Input, &call) // one without a name keeps OpenCode's
	server, tool := called(cmp.Or(call.Tool, open.Tool))
	item := wire.ToolCall{ID: open.ID, Server: server, Tool: tool, Status: word, Arguments: now.Input}
	if now.Status != "running" {
		item.Status, item.Error = "declined", encoded(map[string]string{"message": cmp.Or(now.Output, now.Error)})
	}
	return item
}

func shellItem(in *conversation, open *item, now toolState, input toolInput, word string, over bool) any {
	command := wire.Command{ID: open.ID, Command: input.Command, Cwd: input.Workdir, Status: word}
	if command.Command == "" {
		command.Command = now.Metadata.Command
	}
	if command.Cwd == "" {
		command.Cwd = in.Dir
	}
	if !over {
		return command
	}
	output, took := now.Output, max(0, now.Time.End-now.Time.Start)
	if now.Status == "error" {
		output = now.Error
	}
	command.Output, command.DurationMS, command.ExitCode = &output, &took, now.Metadata.Exit
	if exit := now.Metadata.Exit; exit != nil && *exit != 0 {
		command.Status = "failed"
	}
	return command
}

// edits returns the file changes of a tool.
func edits(tool string, now toolState, input toolInput) []wire.FileEdit {
	var out []wire.FileEdit
	for _, file := range now.Metadata.Files {
		kind := file.Type
		if kind != "add" && kind != "delete" {
			kind = "update"
		}
		out = append(out, wire.FileEdit{Path: file.Path, Kind: kind, Diff: file.Diff})
	}
	path := input.FilePath
	if path == "" {
		path = now.Metadata.FilePath
	}
	if len(out) > 0 || path == "" {
		return out
	}
	edit := wire.FileEdit{Path: filepath.Clean(path), Kind: "update", Diff: now.Metadata.Diff}
	if tool == "write" {
		if exists := now.Metadata.Exists; exists == nil || !*exists {
			edit.Kind = "add"
		}
		if edit.Diff == "" {
			edit.Diff = input.Content
		}
	}
	return []wire.FileEdit{edit}
}

// closeItems ends the open items of a completed message. A text without an end is published as far as known.
func (t *translation) closeItems(in *conversation) {
	for _, open := range slices.Clone(in.Open) {
		t.cutShort(in, open)
	}
	in.Open = nil
}

// cutShort ends the item of a call without an end.
func (t *translation) cutShort(in *conversation, open item) {
	if open.Begun && open.Tool != "" && open.Tool != kindReasoning && shown(open.Tool) {
		t.emit(wire.ItemCompleted(in.in(), toolItem(in, &open, toolState{Status: "error", Error: "The call was cut short."}),
			t.at))
	}
}

// add stores an item.
func (t *translation) add(in *conversation, one item) *item {
	if len(in.Open) >= maxOpen {
		t.cutShort(in, in.Open[0])
		in.over(in.Open[0].ID)
	}
	in.Open = append(in.Open, one)
	return &in.Open[len(in.Open)-1]
}

func encoded(value any) json.RawMessage {
	raw, _ := json.Marshal(value) // strings always encode
	return raw
}

// wire converts counts to the vocabulary's: cached tokens are input, and reasoning is output.
func (t tokens) wire() wire.Tokens {
	out := wire.Tokens{Input: t.Input + t.Cache.Read + t.Cache.Write, Cached: t.Cache.Read, Output: t.Output + t.Reasoning,
		Reasoning: t.Reasoning}
	out.Total = out.Input + out.Output
	return out
}
