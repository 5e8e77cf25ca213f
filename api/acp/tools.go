package acp

import (
	"cmp"
	"encoding/json"
	"strings"

	"harness/internal/runtime/wire"
)

// toolCall returns an item as a tool's call.
func toolCall(kind string, raw json.RawMessage) object {
	call := wire.ReadCall(kind, raw)
	view := object{"title": cmp.Or(call.Name, kind), "kind": "other", "status": "in_progress", "rawInput": orNull(call.Input)}
	switch {
	case call.Status != "" && call.Status != wire.StatusInProgress && call.Failed:
		view["status"] = "failed"
	case call.Status != wire.StatusInProgress:
		view["status"] = "completed"
	}
	if server := call.Server; server != "" && !strings.Contains(call.Name, server) {
		view["title"] = server + "/" + call.Name
	}
	switch {
	case kind == wire.ItemCommand:
		view["title"], view["kind"] = cmp.Or(commandOf(raw), kind), "execute"
		if said := wire.Text(call.Said); said != "" {
			view["content"] = textContent(lastOf(said))
		}
		if call.ExitCode != nil {
			view["rawOutput"] = object{"exit_code": call.ExitCode}
		}
		return view
	case kind == wire.ItemFileChange:
		view["kind"] = "edit"
		view["title"], view["content"], view["locations"] = changes(wire.Members(raw, "changes")[0])
		return view
	case strings.HasPrefix(kind, "web"):
		view["kind"] = "fetch"
	}
	if call.Result != nil {
		view["rawOutput"] = call.Result
		if text := resultText(call.Result); text != "" {
			view["content"] = textContent(lastOf(text))
		}
	}
	return view
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// commandOf returns the command of an item or a request: a text, or its arguments.
func commandOf(raw json.RawMessage) string {
	command := wire.Members(raw, "command")[0]
	if text := wire.Text(command); text != "" {
		return text
	}
	var arguments []string
	for one := range wire.Elements(command) {
		arguments = append(arguments, wire.Text(one))
	}
	return strings.Join(arguments, " ")
}

func lastOf(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-maxOutput:], "")
}

// resultText returns the text of a tool's result: the texts of its content, or the result itself.
func resultText(raw json.RawMessage) string {
	if text := wire.Text(raw); text != "" {
		return text
	}
	list := raw
	if content := wire.Members(raw, "content")[0]; len(content) > 0 {
		list = content
	} else if message := wire.Text(wire.Members(raw, "message")[0]); message != "" {
		return message
	}
	var texts []string
	for one := range wire.Elements(list) {
		if text := wire.Text(wire.Members(one, "text")[0]); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// changes returns changed files: a title, their differences, and their places.
func changes(raw json.RawMessage) (title string, content, places []object) {
	content, places = []object{}, []object{}
	var names []string
	for one := range wire.Elements(raw) {
		given := wire.Members(one, "path", "kind", "diff")
		path, diff := wire.Text(given[0]), wire.Text(given[2])
		kind := wire.Text(wire.Members(given[1], "type")[0])
		names, places = append(names, path), append(places, object{"path": path})
		for _, part := range differences(kind, diff) {
			entry := object{"type": "diff", "path": path, "oldText": part.before, "newText": part.after}
			if kind == "add" {
				entry["oldText"] = nil
			}
			content = append(content, entry)
		}
	}
	return "Change " + strings.Join(names, ", "), content, places
}

// difference is a part of a file before and after a change.
type difference struct{ before, after string }

// differences reads a change: a unified diff, or the whole text of a file that is added or deleted.
func differences(kind, diff string) (all []difference) {
	if !strings.HasPrefix(diff, "@@") && !strings.HasPrefix(diff, "---") && !strings.HasPrefix(diff, "diff ") {
		if kind == "delete" {
			return []difference{{before: diff}}
		}
		return []difference{{after: diff}}
	}
	for line := range strings.Lines(diff) {
		at := len(all) - 1
		switch {
		case strings.HasPrefix(line, "@@"):
			all = append(all, difference{})
		case at < 0, line[0] == '\\':
		case line[0] == '-':
			all[at].before += line[1:]
		case line[0] == '+':
			all[at].after += line[1:]
		default:
			text := strings.TrimPrefix(line, " ")
			all[at].before += text
			all[at].after += text
		}
	}
	return all
}
