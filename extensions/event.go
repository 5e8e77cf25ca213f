package extensions

import (
	"encoding/json"

	"harness/internal/lib/javascript"
)

// encodeEvent writes {"type","payload","emittedAt"?,"correlationId"?} and does not change the payload's bytes.
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

// encode is for values that always encode: texts, numbers and parsed JSON.
func encode(value any) json.RawMessage { return javascript.MustEncode(value) }

func quote(text string) []byte { return encode(text) }
