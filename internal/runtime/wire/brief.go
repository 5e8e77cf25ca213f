package wire

import (
	"encoding/json"

	"harness/internal/runtime/jsonobject"
)

// brief returns an object with its long texts cut and without its long lists. Callers read only a short part of an
// error, so this avoids a copy of a long line.
func brief(raw json.RawMessage) json.RawMessage {
	if len(raw) <= saidAtMost {
		return raw
	}
	object := jsonobject.Parse(raw)
	for i, member := range object {
		value := member.Value
		switch {
		case len(value) <= saidAtMost:
		case value[0] == '"':
			end, _ := skip(value[1:len(value)-1], 0, saidAtMost)
			object[i].Value = append(append(json.RawMessage{}, value[:1+end]...), '"')
		case value[0] == '{':
			object[i].Value = brief(value)
		default:
			object[i].Value = json.RawMessage("null")
		}
	}
	return object.Encode()
}
