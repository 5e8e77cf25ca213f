package extensions

import (
	"bytes"
	"encoding/json"
)

// encodeEvent writes {"type","payload","emittedAt"?,"correlationId"?} without touching the payload's bytes.
func encodeEvent(e *Event) []byte {
	out := make([]byte, 0, len(e.Payload)+len(e.Type)+96)
	out = append(out, `{"type":`...)
	out = append(out, quote(e.Type)...)
	out = append(out, `,"payload":`...)
	if len(e.Payload) == 0 {
		out = append(out, "{}"...)
	} else {
		out = append(out, e.Payload...)
	}
	if e.EmittedAt != "" {
		out = append(out, `,"emittedAt":`...)
		out = append(out, quote(e.EmittedAt)...)
	}
	if e.CorrelationID != "" {
		out = append(out, `,"correlationId":`...)
		out = append(out, quote(e.CorrelationID)...)
	}
	return append(out, '}')
}

// encode is JSON as JavaScript writes it: < > & stay as they are.
func encode(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		// Only strings, numbers and raw JSON that was parsed before come here.
		panic("extensions: encode: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func quote(text string) []byte { return encode(text) }
