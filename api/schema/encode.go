package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"

	"harness/internal/lib/javascript"
)

// JSON returns the value on one line, without HTML escaping. An untouched value keeps its source bytes, except parts
// that strict parsers refuse. An unpaired surrogate becomes U+FFFD, and a number beyond the range of a double becomes
// null. JSON returns nil for Undefined.
func (v Value) JSON() json.RawMessage {
	if v.kind == Undefined {
		return nil
	}
	if v.raw != "" && !strings.ContainsAny(v.raw, "\n\r\t") {
		return json.RawMessage(v.raw)
	}
	var out bytes.Buffer
	v.write(&out)
	return out.Bytes()
}

// MarshalJSON implements json.Marshaler; Undefined encodes as null.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.kind == Undefined {
		return []byte("null"), nil
	}
	return v.JSON(), nil
}

func (v Value) write(out *bytes.Buffer) {
	if v.raw != "" {
		// A line break outside a string would end a line of a JSON-lines peer too early. JSON strings contain no line
		// breaks.
		if err := json.Compact(out, []byte(v.raw)); err != nil {
			panic("schema: compact valid JSON: " + err.Error())
		}
		return
	}
	switch v.kind {
	case Undefined, Null:
		out.WriteString("null")
	case Bool:
		if v.flag {
			out.WriteString("true")
		} else {
			out.WriteString("false")
		}
	case Number:
		if math.IsInf(v.Float(), 0) {
			out.WriteString("null") // as JavaScript does
		} else {
			out.WriteString(v.text)
		}
	case String:
		writeText(out, v.text)
	case Array:
		out.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.write(out)
		}
		out.WriteByte(']')
	case Object:
		out.WriteByte('{')
		first := true
		for _, member := range v.members {
			if !member.Value.Defined() {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			writeText(out, member.Name)
			out.WriteByte(':')
			member.Value.write(out)
		}
		out.WriteByte('}')
	}
}

func writeText(out *bytes.Buffer, text string) { out.Write(javascript.MustEncode(text)) }
