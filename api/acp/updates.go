package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"harness/api/door"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/transcript"
)

// Bounds of the output of a command that runs.
const (
	maxOutput   = 32 << 10
	outputPause = 250 * time.Millisecond
)

// chunkOf is the kind of update for a text of an item.
func chunkOf(into string) string {
	if into == runtime.TextContent {
		return "agent_message_chunk"
	}
	return "agent_thought_chunk"
}

// delta sends the part of a text that the client does not have. It requires f.mu.
func (f *follow) delta(e event) {
	if e.Method == wire.MethodFileChangeOutput || e.Method == wire.MethodPlanDelta {
		return // the whole item shows it
	}
	from, ok := f.ends.Take(e.Item, e.Text, e.Pos > 0)
	if !ok {
		return
	}
	f.peer.out.Put(f.message(object{"sessionUpdate": chunkOf(e.Text.Into), "messageId": e.Item,
		"content": textBlock(e.Added(from))}, meta{Text: door.TextKey(e.Item, e.Text.Into), End: e.Text.Offset + e.Text.Length}))
}

// output notes the output of a command, and shows it after a pause. It requires f.mu.
func (f *follow) output(e event) {
	key := door.TextKey(e.Item, e.Text.Into)
	end, to := f.ends[key], e.Text.Offset+e.Text.Length
	one := f.shown[e.Item]
	if one == nil || one.ended || to <= end {
		return
	}
	f.ends[key] = to
	one.output += e.Added(max(end, e.Text.Offset))
	if len(one.output) > maxOutput {
		one.output = strings.ToValidUTF8(one.output[len(one.output)-maxOutput:], "")
	}
	if one.timer == nil {
		item := e.Item
		one.timer = time.AfterFunc(outputPause, func() { f.showOutput(item, one) })
	}
}

func (f *follow) showOutput(item string, one *tool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.timer = nil; !one.ended {
		f.send(object{"sessionUpdate": "tool_call_update", "toolCallId": item, "status": "in_progress", "content": textContent(one.output)})
	}
}

func textContent(text string) []object {
	return []object{{"type": "content", "content": textBlock(text)}}
}

// item returns the updates of an item that began or ended. It requires f.mu.
func (f *follow) item(raw json.RawMessage, ended bool, turn string) []object {
	given := wire.Members(raw, "type", "id", "text")
	kind, id := wire.Text(given[0]), wire.Text(given[1])
	one := f.shown[id]
	if one != nil && (one.ended || !ended) {
		return nil
	}
	switch {
	case kind == wire.ItemUserMessage:
		f.shown[id] = &tool{ended: true}
		return f.userMessage(id, raw, turn)
	case kind == wire.ItemAgentMessage || kind == wire.ItemReasoning:
		if !ended {
			return nil
		}
		f.shown[id] = &tool{ended: true}
		return f.restOf(kind, id, wire.Text(given[2]), raw)
	case kind == wire.ItemPlan:
		if !ended {
			return nil
		}
		return []object{{"sessionUpdate": "plan", "entries": []object{planEntry(wire.Text(given[2]), wire.StatusCompleted)}}}
	case !wire.IsTool(kind):
		return nil
	}
	call := toolCall(kind, raw)
	call["toolCallId"], call["sessionUpdate"] = id, "tool_call"
	if one != nil {
		call["sessionUpdate"] = "tool_call_update"
		if one.timer != nil {
			one.timer.Stop()
		}
	}
	f.shown[id] = &tool{ended: ended}
	return []object{call}
}

// restOf returns what the client lacks of a text that is whole now.
func (f *follow) restOf(kind, id, text string, raw json.RawMessage) []object {
	into := runtime.TextContent
	if kind == wire.ItemReasoning {
		for key := range f.ends {
			if strings.HasPrefix(key, id+"\x00") {
				return nil
			}
		}
		into, text = runtime.TextDetails, thoughts(raw)
	}
	key := door.TextKey(id, into)
	rest := door.Behind(text, f.ends[key])
	f.ends[key] = door.Length(text)
	if rest == "" {
		return nil
	}
	return []object{{"sessionUpdate": chunkOf(into), "messageId": id, "content": textBlock(rest)}}
}

// thoughts returns the text of a reasoning item: its summary, or else its content.
func thoughts(raw json.RawMessage) string {
	var in struct{ Summary, Content []string }
	_ = json.Unmarshal(raw, &in) // parts of another form are none
	if len(in.Summary) == 0 {
		in.Summary = in.Content
	}
	return strings.Join(in.Summary, "\n\n")
}

// userMessage returns a message of another client. The socket's own is not shown again.
func (f *follow) userMessage(id string, raw json.RawMessage, turn string) (updates []object) {
	read, _ := wire.ReadItem(raw)
	if f.said.Take(read.Content) {
		return nil
	}
	if f.saidIn[turn] > 0 {
		f.saidIn[turn]--
		return nil
	}
	for part := range wire.Elements(wire.Members(raw, "content")[0]) {
		given := wire.Members(part, "type", "text", "url", "path")
		block := textBlock(wire.Text(given[1]))
		if kind := wire.Text(given[0]); kind != "text" {
			url := wire.Text(given[2])
			head, data, found := strings.Cut(url, ";base64,")
			if block = textBlock("[" + kind + "] " + cmp.Or(url, wire.Text(given[3]))); found {
				block = object{"type": "image", "mimeType": strings.TrimPrefix(head, "data:"), "data": data}
			}
		}
		updates = append(updates, object{"sessionUpdate": "user_message_chunk", "messageId": id, "content": block})
	}
	return updates
}

// planUpdate returns a turn's plan.
func planUpdate(raw json.RawMessage) object {
	entries := []object{}
	for step := range wire.Elements(raw) {
		given := wire.Members(step, "step", "status")
		entries = append(entries, planEntry(wire.Text(given[0]), wire.Text(given[1])))
	}
	return object{"sessionUpdate": "plan", "entries": entries}
}

func planEntry(text, status string) object {
	if status == wire.StatusInProgress {
		status = "in_progress"
	}
	return object{"content": text, "priority": "medium", "status": status}
}

// replay sends the transcript, and returns which of the held events it has already.
func (f *follow) replay(ctx context.Context) (drop func(event) bool, pos int64, err error) {
	listed := map[string]int64{} // by item: the position at which it was read
	whole := map[string]bool{}   // items that grow no more
	want := operations.Reading{Limit: operations.MaxWindow, FromStart: true}
	for {
		detail, _, err := f.peer.ops().Read(ctx, f.id, want)
		if err != nil {
			return nil, 0, err
		}
		for _, entry := range detail.Transcript {
			listed[entry.MessageID], whole[entry.MessageID] = detail.Pos, entry.Status != transcript.Streaming
			for _, text := range f.replayed(ctx, entry.Whole()) {
				f.peer.Send(text) // it blocks: a client that reads slowly gets all of it
			}
		}
		if detail.Newer == "" {
			return func(e event) bool { // an early text of a whole item has no position
				return e.Item != "" && e.Pos <= listed[e.Item] && (whole[e.Item] || e.Text == nil && e.Pos > 0)
			}, detail.Pos, nil
		}
		want.FromStart, want.After = false, detail.Newer
	}
}

// replayed returns the updates of a stored entry. Of a text that grows the client gets the rest as it comes.
func (f *follow) replayed(ctx context.Context, entry transcript.Entry) (messages [][]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	grows := entry.Status == transcript.Streaming
	raw := f.itemOf(ctx, entry)
	switch {
	case raw == nil:
		return nil
	case grows && entry.Type == wire.ItemAgentMessage:
		f.ends[door.TextKey(entry.MessageID, runtime.TextContent)] = door.Length(entry.Content)
		if entry.Content == "" {
			return nil
		}
		return [][]byte{f.message(object{"sessionUpdate": chunkOf(runtime.TextContent), "messageId": entry.MessageID,
			"content": textBlock(entry.Content)}, meta{})}
	case grows && entry.Type == wire.ItemCommand:
		output := wire.Text(wire.Members(raw, "aggregatedOutput")[0])
		f.ends[door.TextKey(entry.MessageID, runtime.TextDetails+"aggregatedOutput")] = door.Length(output)
		defer func() { f.shown[entry.MessageID].output = output }()
	}
	for _, update := range f.item(raw, !grows, entry.TurnID) {
		messages = append(messages, f.message(update, meta{}))
	}
	return messages
}

// itemOf returns an entry as an item, nil for an entry that is none.
func (f *follow) itemOf(ctx context.Context, entry transcript.Entry) json.RawMessage {
	switch {
	case entry.Details != nil && json.Valid([]byte(*entry.Details)):
		if raw := json.RawMessage(*entry.Details); wire.Text(wire.Members(raw, "type")[0]) == entry.Type {
			return raw
		}
	case entry.Type == wire.ItemUserMessage:
		return javascript.MustEncode(object{"type": entry.Type, "id": entry.MessageID,
			"content": f.contentOf(ctx, entry.Content)})
	case entry.Type == wire.ItemAgentMessage:
		return javascript.MustEncode(object{"type": entry.Type, "id": entry.MessageID, "text": entry.Content})
	}
	return nil
}
