package codex

import (
	"bytes"
	"encoding/json"
	"strconv"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
)

// Describe returns codex's current description of a conversation without a request to codex. It uses the last
// description and the data stored since. Unknown members stay unchanged.
func (c *Codex) Describe(raw json.RawMessage, state runtime.ThreadState) json.RawMessage {
	var whole []byte
	parts := c.DescribeParts(raw, state)
	for _, part := range parts {
		whole = append(whole, part.JSON...)
		if !part.Items {
			continue
		}
		first := true
		for _, item := range state.Turns[part.Turn].Items {
			native := c.DescribeItem(item)
			if native == nil {
				continue
			}
			if !first {
				whole = append(whole, ',')
			}
			whole, first = append(whole, native...), false
		}
	}
	return whole
}

// DescribeParts is Describe without the items of the turns. The items of a turn belong after the part with Items,
// with commas between them.
func (c *Codex) DescribeParts(raw json.RawMessage, state runtime.ThreadState) []runtime.DescribedPart {
	fields := jsonobject.Parse(raw)
	if fields == nil {
		return []runtime.DescribedPart{{JSON: raw}}
	}
	conn := connOf(c.process.Current())
	loaded := conn != nil && conn.turns.present(state.ID)
	if fields.Text("preview") == "" {
		fields.Replace("preview", rawString(state.Opening))
	}
	if state.Title != "" && state.Title != fields.Text("preview") { // an unnamed one has its first message as name
		fields.Replace("name", rawString(state.Title))
	}
	recency := state.UpdatedAt
	if n := len(state.Turns); n > 0 {
		recency = state.Turns[n-1].StartedAt // the start of the last turn; updatedAt is its end
	}
	for name, seen := range map[string]int64{"updatedAt": state.UpdatedAt, "recencyAt": recency} {
		if at, err := strconv.ParseInt(string(fields.Get(name)), 10, 64); err == nil && at < seen/1000 {
			fields.Replace(name, number(seen/1000))
		}
	}
	if !loaded {
		fields.Replace("environments", json.RawMessage("null"))
		fields.Replace("canAcceptDirectInput", json.RawMessage("null"))
		if state.Opening == "" {
			fields.Replace("model", json.RawMessage("null")) // its first turn sets it
		}
	}
	fields.Replace("status", status(state, loaded))
	if !fields.Replace("turns", nil) {
		return []runtime.DescribedPart{{JSON: fields.Encode()}}
	}
	before, after := around(fields, "turns")
	var parts []runtime.DescribedPart
	text := before
	for i, turn := range state.Turns {
		if i > 0 {
			text = append(text, ',')
		}
		described := describeTurn(turn)
		if described.Replace("items", nil) {
			head, tail := around(described, "items")
			parts = append(parts, runtime.DescribedPart{JSON: append(text, head...), Items: true, Turn: i})
			text = tail
			continue
		}
		text = append(text, described.Encode()...)
	}
	return append(parts, runtime.DescribedPart{JSON: append(text, after...)})
}

// around splits an object at a list in one of its members: before and after the elements.
func around(fields jsonobject.Object, name string) (before, after []byte) {
	parts := fields.Parts()
	for i, member := range fields {
		if member.Name == name {
			value := 2*i + 1 // each member is two slices
			return append(bytes.Join(parts[:value], nil), '['), append([]byte{']'}, bytes.Join(parts[value+1:], nil)...)
		}
	}
	return fields.Encode(), nil
}

// DescribeItem returns codex's description of a completed item, nil when the item is not codex's.
func (c *Codex) DescribeItem(item runtime.Item) json.RawMessage {
	native := item.Native
	if native == nil {
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(item.Details)) != nil {
			return nil
		}
		native = compact.Bytes()
	}
	if wire.Refused(native) {
		return nil
	}
	return native
}

// status returns codex's value for the state of a conversation.
func status(state runtime.ThreadState, loaded bool) json.RawMessage {
	if state.Running {
		flags := []string{}
		for _, kind := range state.PendingRequests {
			switch kind {
			case runtime.RequestApproval:
				flags = append(flags, "waitingOnApproval")
			case runtime.RequestToolInput:
				flags = append(flags, "waitingOnUserInput")
			case runtime.RequestToolCall: // codex has no value for it
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

// describeTurn returns a turn without its items.
func describeTurn(turn runtime.Turn) jsonobject.Object {
	fields := jsonobject.Parse(turn.Native)
	if fields == nil {
		fields = jsonobject.Parse(
			json.RawMessage(`{"id":null,"items":[],"itemsView":"full","status":null,"error":null,"startedAt":null,"completedAt":null}`))
		fields.Replace("id", rawString(turn.ID))
		if turn.StartedAt != 0 {
			fields.Replace("startedAt", number(turn.StartedAt/1000))
		}
	}
	if fields.Text("status") != string(turn.Status) { // codex did not report this end: its process was gone
		fields.Replace("status", rawString(string(turn.Status)))
		if turn.Error != "" && turn.Status == runtime.TurnFailed {
			fields.Replace("error", mustEncode(map[string]string{"message": turn.Error}))
		}
	}
	if turn.CompletedAt != 0 && string(fields.Get("completedAt")) == "null" {
		fields.Replace("completedAt", number(turn.CompletedAt/1000))
	}
	fields.Replace("itemsView", json.RawMessage(`"full"`))
	return fields
}

func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

// mustEncode encodes values that always have JSON.
func mustEncode(value any) json.RawMessage {
	line, err := encode(value)
	if err != nil {
		panic("codex: encode a description: " + err.Error())
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}
