package codex

import (
	"bytes"
	"encoding/json"
	"strconv"

	"harness/runtime"
	"harness/runtime/jsonobject"
	"harness/runtime/wire"
)

// Describe tells how codex would describe a conversation now, from its description as last seen and from what is stored
// since: codex need not be asked to show a conversation. Members this does not know stay as they were.
func (c *Codex) Describe(raw json.RawMessage, state runtime.ThreadState) json.RawMessage {
	fields := jsonobject.Parse(raw)
	if fields == nil {
		return raw
	}
	conn := connOf(c.process.Current())
	loaded := conn != nil && conn.turns.present(state.ID)
	turns := make([]json.RawMessage, len(state.Turns))
	for i, turn := range state.Turns {
		turns[i] = describeTurn(turn)
	}
	if fields.Text("preview") == "" {
		fields.Replace("preview", rawString(state.Opening))
	}
	if state.Title != "" && state.Title != fields.Text("preview") { // one without a name is called as it begins
		fields.Replace("name", rawString(state.Title))
	}
	recency := state.UpdatedAt
	if n := len(state.Turns); n > 0 {
		recency = state.Turns[n-1].StartedAt // when the last turn began; updatedAt is when it ended
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
			fields.Replace("model", json.RawMessage("null")) // its first turn decides
		}
	}
	fields.Replace("status", status(state, loaded))
	fields.Replace("turns", list(turns))
	return fields.Encode()
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
	fields := jsonobject.Parse(turn.Native)
	if fields == nil {
		fields = jsonobject.Parse(
			json.RawMessage(`{"id":null,"items":[],"itemsView":"full","status":null,"error":null,"startedAt":null,"completedAt":null}`))
		fields.Replace("id", rawString(turn.ID))
		if turn.StartedAt != 0 {
			fields.Replace("startedAt", number(turn.StartedAt/1000))
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
		if wire.Refused(native) {
			continue
		}
		items = append(items, native)
	}
	if fields.Text("status") != string(turn.Status) { // how the turn ended was not codex's word: its process was gone
		fields.Replace("status", rawString(string(turn.Status)))
		if turn.Error != "" && turn.Status == runtime.TurnFailed {
			fields.Replace("error", mustEncode(map[string]string{"message": turn.Error}))
		}
	}
	if turn.CompletedAt != 0 && string(fields.Get("completedAt")) == "null" {
		fields.Replace("completedAt", number(turn.CompletedAt/1000))
	}
	fields.Replace("items", list(items))
	fields.Replace("itemsView", json.RawMessage(`"full"`))
	return fields.Encode()
}

func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }

func list(values []json.RawMessage) json.RawMessage {
	out := append([]byte{'['}, bytes.Join(toBytes(values), []byte{','})...)
	return append(out, ']')
}

func toBytes(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, value := range values {
		out[i] = value
	}
	return out
}

// mustEncode is JSON of values that always have one.
func mustEncode(value any) json.RawMessage {
	line, err := encode(value)
	if err != nil {
		panic("codex: encode a description: " + err.Error())
	}
	return bytes.TrimSuffix(line, []byte("\n"))
}
