package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"harness/internal/runtime/wire"
)

// Tools with a special display of their calls.
const (
	toolShell    = "Bash"
	toolQuestion = "AskUserQuestion"
	toolPlan     = "ExitPlanMode"
	toolNetwork  = "SandboxNetworkAccess"
	toolTodo     = "TodoWrite"
	toolNewTask  = "TaskCreate"
	toolTask     = "TaskUpdate"
)

// edits reports whether a tool changes files.
func edits(tool string) bool {
	return slices.Contains([]string{"Write", "Edit", "MultiEdit", "NotebookEdit"}, tool)
}

// callTool stores a call and publishes the start of its item.
func (t *translation) callTool(p part) {
	if p.ID == "" || t.call(p.ID) != nil {
		return
	}
	call := toolCall{ID: p.ID, Name: p.Name, Input: p.Input, Began: t.at}
	switch p.Name {
	case toolQuestion, toolTodo, toolNewTask, toolTask:
		call.Silent = true
	case toolPlan:
		call.Silent = true
		if plan := readInput(p.Input).Plan; plan != "" {
			t.whole(wire.Plan(p.ID, plan))
		}
	}
	if !call.Silent {
		t.emit(wire.ItemStarted(t.here(), t.tool(call, wire.StatusInProgress, nil), t.at))
	}
	call.keepInput(p.Input)
	t.Tools = keep(t.Tools, maxTools, call)
	t.fit()
}

// keepInput stores the arguments of a call.
func (c *toolCall) keepInput(input json.RawMessage) {
	if len(input) > maxDetail {
		input = shortened(input, maxDetail/4)
	}
	c.Input = input
}

// shortened reduces long arguments to the parts in an item, with a limit in bytes for each text.
func shortened(input json.RawMessage, limit int) json.RawMessage {
	in := readInput(input)
	out, err := json.Marshal(struct {
		Command  string `json:"command,omitempty"`
		FilePath string `json:"file_path,omitempty"`
	}{cut(in.Command, limit), cut(in.path(), limit)})
	if err != nil {
		return nil // two strings always encode
	}
	return out
}

// cut returns the beginning of a text, up to limit bytes.
func cut(text string, limit int) string { return text[:min(len(text), limit)] }

// outcome is the result of a call.
type outcome struct {
	text   string
	images []wire.Picture
	failed bool
	// native is the result in Claude Code's own format.
	native json.RawMessage
	at     int64
}

// tool returns the item of a call, with the result if it has ended.
func (t *translation) tool(call toolCall, status string, out *outcome) any {
	in := readInput(call.Input)
	switch {
	case call.Name == toolShell:
		return t.command(call, in, status, out)
	case edits(call.Name):
		return wire.FileChange(call.ID, status, edit(call.Name, in, out))
	}
	item := wire.ToolCall{ID: call.ID, Server: Name, Tool: call.Name, Status: status, Arguments: call.Input}
	if rest, ok := strings.CutPrefix(call.Name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			item.Server, item.Tool = server, tool
		}
	}
	if out != nil && out.failed {
		item.Error = encode(struct {
			Message string `json:"message"`
		}{out.text})
	} else if out != nil {
		item.Result = wire.ToolResult(out.text, out.images...)
	}
	return item
}

// exitCode matches the prefix of a failed command's output.
var exitCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Error: )?Exit code (\d+)\n?`) })

func (t *translation) command(call toolCall, in toolInput, status string, out *outcome) any {
	item := wire.Command{ID: call.ID, Command: in.Command, Cwd: t.Cwd, Status: status}
	if out == nil {
		return item
	}
	took := max(out.at-call.Began, 0)
	item.DurationMS = &took
	text := out.text
	if m := exitCode().FindStringSubmatch(text); out.failed && m != nil {
		if code, err := strconv.Atoi(m[1]); err == nil {
			item.ExitCode, text = &code, text[len(m[0]):]
		}
	} else if !out.failed {
		code := 0
		item.ExitCode = &code
		var said struct {
			Stdout *string `json:"stdout"`
			Stderr string  `json:"stderr"`
		}
		if json.Unmarshal(out.native, &said) == nil && said.Stdout != nil {
			text = strings.TrimSuffix(*said.Stdout+"\n"+said.Stderr, "\n")
		}
	}
	item.Output = &text
	return item
}

// edit returns the file change of a call. After the change, Claude Code sends the difference.
func edit(tool string, in toolInput, out *outcome) wire.FileEdit {
	change := wire.FileEdit{Path: in.path(), Kind: "update", Diff: replaced(in.Old, cmp.Or(in.New, in.NewSource))}
	if tool == "Write" {
		change.Kind, change.Diff = "add", in.Content
	}
	if out == nil {
		return change
	}
	var made struct {
		Type    string `json:"type"`
		Content string `json:"content"`
		Patch   []hunk `json:"structuredPatch"`
	}
	_ = json.Unmarshal(out.native, &made) // a refusal is a string
	switch {
	case made.Type == "create":
		change.Kind, change.Diff = "add", made.Content
	case len(made.Patch) > 0:
		change.Kind, change.Diff = "update", unified(made.Patch)
	}
	return change
}

type hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// unified returns hunks as a unified diff.
func unified(hunks []hunk) string {
	var out strings.Builder
	for _, h := range hunks {
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, line := range h.Lines {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// replaced returns a diff of a replacement at an unknown place of the file.
func replaced(before, after string) string {
	var out strings.Builder
	for _, side := range []struct{ mark, text string }{{"-", before}, {"+", after}} {
		if side.text == "" {
			continue
		}
		for line := range strings.Lines(side.text) {
			out.WriteString(side.mark + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return out.String()
}

// toolResults ends the calls that have a result in a message.
func (t *translation) toolResults(e *event) {
	for _, p := range e.Message.Content {
		call := t.call(p.ToolUse)
		if p.Type != "tool_result" || call == nil {
			continue
		}
		ended := *call
		t.Tools = slices.DeleteFunc(t.Tools, func(c toolCall) bool { return c.ID == ended.ID })
		status := wire.StatusCompleted
		if p.IsError {
			status = wire.StatusFailed
		}
		// A call that was stopped during its run is "user-rejected", too; it may have done part of its work.
		for _, meta := range e.ToolMeta {
			if meta.ID == ended.ID && meta.NotExecuted != "" && meta.NotExecuted != "user-rejected" {
				ended.Denied = true
			}
		}
		ended.Denied = ended.Denied || p.IsError && neverRan(p.Content.text())
		if ended.Denied {
			status = wire.StatusDeclined
		}
		if !ended.Silent {
			text, images := p.Content.shown()
			out := outcome{text: text, images: images, failed: p.IsError, native: e.ToolUseResult, at: t.at}
			t.emit(wire.ItemCompleted(t.here(), t.tool(ended, status, &out), t.at))
			if status == wire.StatusCompleted && edits(ended.Name) {
				t.changed(edit(ended.Name, readInput(ended.Input), &out))
			}
		} else if status == wire.StatusCompleted {
			t.planned(ended, e.ToolUseResult)
		}
	}
}

// neverRan reports whether Claude Code refused a call by its own rules before it ran: the tool does not exist, its
// input is invalid, or a rule blocks it. A call that was aborted together with others may have run.
func neverRan(result string) bool {
	said, refused := strings.CutPrefix(result, "<tool_use_error>")
	return refused && !strings.HasPrefix(said, "Cancelled:") && !strings.HasPrefix(said, "Sibling tool call")
}

// changed publishes the changes of the turn so far, within bounds.
func (t *translation) changed(change wire.FileEdit) {
	if diff := wire.TurnDiff(t.Diff, t.Cwd, []wire.FileEdit{change}); len(diff) <= maxDetail {
		t.Diff = diff
		t.emit(wire.DiffUpdated(t.here(), diff))
	}
}

// planned handles the tools of the task list; clients get whole plans.
func (t *translation) planned(call toolCall, result json.RawMessage) {
	in := readInput(call.Input)
	word := map[string]string{"in_progress": wire.StatusInProgress, "completed": wire.StatusCompleted,
		"pending": "pending"}
	switch call.Name {
	case toolTodo:
		t.Plan = nil
		for i, todo := range in.Todos {
			t.Plan = keep(t.Plan, maxSteps, task{strconv.Itoa(i), cut(todo.Content, maxText), cmp.Or(word[todo.Status], "pending")})
		}
	case toolNewTask:
		var made struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
		}
		_ = json.Unmarshal(result, &made) // a refusal is a string
		t.Plan = keep(t.Plan, maxSteps, task{short(made.Task.ID), cut(in.Subject, maxText), "pending"})
	case toolTask:
		i := slices.IndexFunc(t.Plan, func(one task) bool { return one.ID == short(in.TaskID) })
		if i < 0 {
			return
		}
		t.Plan[i].Status = cmp.Or(word[in.Status], t.Plan[i].Status)
		t.Plan[i].Step = cmp.Or(cut(in.Subject, maxText), t.Plan[i].Step)
		if in.Status == "deleted" {
			t.Plan = slices.Delete(t.Plan, i, i+1)
		}
	default:
		return
	}
	steps := make([]wire.Step, 0, len(t.Plan))
	for _, one := range t.Plan {
		steps = append(steps, wire.Step{Step: one.Step, Status: one.Status})
	}
	t.emit(wire.PlanUpdated(t.here(), steps...))
}
