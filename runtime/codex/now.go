package codex

import (
	"bytes"
	"encoding/json"

	"harness/runtime"
)

// Describe tells how codex would describe a conversation now, from its description as last seen and from what is stored since: codex need not
// be asked to show a conversation. Members this does not know stay as they were.
func (c *Codex) Describe(raw json.RawMessage, state runtime.ThreadState) json.RawMessage {
	fields := parseMembers(raw)
	if fields == nil {
		return raw
	}
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	loaded := conn != nil && conn.turns.present(state.ID)
	turns := make([]json.RawMessage, len(state.Turns))
	for i, turn := range state.Turns {
		turns[i] = describeTurn(turn)
	}
	if fields.text("preview") == "" {
		fields.replace("preview", rawString(state.Opening))
	}
	if state.Title != "" && state.Title != fields.text("preview") { // one without a name is called as it begins
		fields.replace("name", rawString(state.Title))
	}
	for _, name := range []string{"updatedAt", "recencyAt"} {
		if at, ok := fields.number(name); ok && at < state.UpdatedAt/1000 {
			fields.replace(name, number(state.UpdatedAt/1000))
		}
	}
	if !loaded {
		fields.replace("environments", json.RawMessage("null"))
		fields.replace("canAcceptDirectInput", json.RawMessage("null"))
		if state.Opening == "" {
			fields.replace("model", json.RawMessage("null")) // its first turn decides
		}
	}
	fields.replace("status", status(state, loaded))
	fields.replace("turns", list(turns))
	return fields.encode()
}

// status is codex's word for what a conversation does.
func status(state runtime.ThreadState, loaded bool) json.RawMessage {
	if state.Running {
		flags := []string{}
		for _, kind := range state.Waiting {
			switch kind {
			case runtime.RequestApproval:
				flags = append(flags, "waitingOnApproval")
			case runtime.RequestToolInput:
				flags = append(flags, "waitingOnUserInput")
			case runtime.RequestToolCall: // codex has no word for it
			}
		}
		return mustEncode(struct {
			Type  string   `json:"type"`
			Flags []string `json:"activeFlags"`
		}{"active", flags})
	}
	switch {
	case !loaded:
		return json.RawMessage(`{"type":"notLoaded"}`)
	case state.Failed:
		return json.RawMessage(`{"type":"systemError"}`)
	}
	return json.RawMessage(`{"type":"idle"}`)
}

func describeTurn(turn runtime.Turn) json.RawMessage {
	fields := parseMembers(turn.Native)
	if fields == nil {
		fields = parseMembers(json.RawMessage(`{"id":null,"items":[],"itemsView":"full","status":null,"error":null,"startedAt":null,"completedAt":null}`))
		fields.replace("id", rawString(turn.ID))
		if turn.StartedAt != 0 {
			fields.replace("startedAt", number(turn.StartedAt/1000))
		}
	}
	items := make([]json.RawMessage, 0, len(turn.Items))
	for _, item := range turn.Items {
		native := item.Native
		if native == nil {
			var compact bytes.Buffer
			if json.Compact(&compact, []byte(item.Details)) != nil {
				continue // no item of codex's
			}
			native = compact.Bytes()
		}
		if refused(native) {
			continue
		}
		items = append(items, native)
	}
	if fields.text("status") != string(turn.Status) { // how the turn ended was not codex's word: its process was gone
		fields.replace("status", rawString(string(turn.Status)))
		if turn.Error != "" && turn.Status == runtime.TurnFailed {
			fields.replace("error", mustEncode(map[string]string{"message": turn.Error}))
		}
	}
	if turn.CompletedAt != 0 && string(fields.get("completedAt")) == "null" {
		fields.replace("completedAt", number(turn.CompletedAt/1000))
	}
	fields.replace("items", list(items))
	fields.replace("itemsView", json.RawMessage(`"full"`))
	return fields.encode()
}

// refused tells a command that was not run: codex tells of it while it is refused, and leaves it out of the history.
func refused(item json.RawMessage) bool {
	var w wireItem
	return json.Unmarshal(item, &w) == nil && w.Type == "commandExecution" && w.Status == "declined"
}

// withoutItems is a native turn with an empty list of items.
func withoutItems(raw json.RawMessage) json.RawMessage {
	fields := parseMembers(raw)
	if fields == nil {
		return nil
	}
	fields.replace("items", json.RawMessage("[]"))
	return fields.encode()
}
