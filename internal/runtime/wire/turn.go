package wire

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
)

// ReadTurn reads a turn of a notification or of a history; its ID is "" when there is none. It skips members of an
// unexpected type.
func ReadTurn(raw json.RawMessage) runtime.Turn {
	var turn runtime.Turn
	var items runtime.Span
	if len(raw) == 0 {
		return turn
	}
	jsonobject.Each(raw, 0, func(name []byte, start, end int) {
		value := raw[start:end]
		switch string(name) {
		case "id":
			turn.ID = runtime.KnownID(Text(value))
		case "status":
			turn.Status = runtime.TurnStatus(Text(value))
		case "error":
			if string(value) != "null" {
				turn.Error = errorText(value)
				turn.Kind, turn.Remedy = failureKind(value)
				turn.ProviderStatus = providerStatus(value)
			}
		case "startedAt":
			turn.StartedAt = Millis(value)
		case "completedAt":
			turn.CompletedAt = Millis(value)
		case "items":
			items = runtime.Span{start, end}
		}
	})
	if turn.ID == "" {
		return runtime.Turn{}
	}
	turn.Native = withoutItems(raw, items)
	return turn
}

// ReadHistory is ReadTurn with the turn's items.
func ReadHistory(raw json.RawMessage) runtime.Turn {
	turn := ReadTurn(raw)
	var with struct {
		Items []json.RawMessage `json:"items"`
	}
	_ = json.Unmarshal(raw, &with) // a list of another type is none
	for _, one := range with.Items {
		if item, ok := ReadItem(one); ok {
			turn.Items = append(turn.Items, item)
		}
	}
	return turn
}

// withoutItems returns a turn with an empty list of items.
func withoutItems(raw json.RawMessage, items runtime.Span) json.RawMessage {
	out := make(json.RawMessage, 0, len(raw)-(items[1]-items[0])+2)
	if items == (runtime.Span{}) {
		return append(out, raw...)
	}
	out = append(append(out, raw[:items[0]]...), "[]"...)
	return append(out, raw[items[1]:]...)
}

// errorText returns the text of an error: its message, or the string itself.
func errorText(raw json.RawMessage) string {
	var message string
	jsonobject.Each(raw, 0, func(name []byte, start, end int) {
		if string(name) == "message" {
			message = Text(raw[start:end])
		}
	})
	if message == "" {
		message = Text(raw)
	}
	return Clean(message)
}
