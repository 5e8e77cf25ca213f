package codex

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// members are those of a JSON object, in its order.
type members []struct {
	name  string
	value json.RawMessage
}

// parseMembers reads an object; nil when it is none.
func parseMembers(raw json.RawMessage) members {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	all := members{}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || decoder.Decode(&value) != nil {
			return nil
		}
		all = append(all, struct {
			name  string
			value json.RawMessage
		}{name, value})
	}
	return all
}

func (m members) get(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

func (m members) text(name string) string {
	var text string
	_ = json.Unmarshal(m.get(name), &text) // another type is no text
	return text
}

func (m members) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(string(m.get(name)), 10, 64)
	return n, err == nil
}

// replace changes a member in its place; one the object does not have is left out.
func (m members) replace(name string, value json.RawMessage) {
	for i := range m {
		if m[i].name == name {
			m[i].value = value
		}
	}
}

func (m members) encode() json.RawMessage {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, one := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(rawString(one.name))
		out.WriteByte(':')
		out.Write(one.value)
	}
	out.WriteByte('}')
	return out.Bytes()
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
