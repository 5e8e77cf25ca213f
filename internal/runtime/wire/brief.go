package wire

import (
	"encoding/json"

	"harness/internal/runtime/jsonobject"
)

// brief is an object whose long texts are cut to their beginnings, and without its long lists: what is read of an error is
// short, and a line of an agent is not to be held twice for it.
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
