// Package javascript writes JSON and times as JavaScript does, in the form that clients expect.
package javascript

import (
	"bytes"
	"encoding/json"
	"time"
)

// TimeLayout is the form of Date.toISOString: UTC with exactly three decimals.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// ISOTime formats a time in ms as Date.toISOString does.
func ISOTime(ms int64) string { return time.UnixMilli(ms).UTC().Format(TimeLayout) }

// Encode returns compact JSON with members in the order of declaration; < > & stay as they are. encoding/json escapes
// U+2028 and U+2029, see PlainSeparators.
func Encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// MustEncode is Encode for values that always encode: texts, numbers, and raw JSON that was parsed before. It panics
// for anything else.
func MustEncode(value any) json.RawMessage {
	out, err := Encode(value)
	if err != nil {
		panic("encode JSON: " + err.Error())
	}
	return out
}

// Stringify is JSON.stringify.
func Stringify(value any) (json.RawMessage, error) {
	out, err := Encode(value)
	return PlainSeparators(out), err
}

// PlainSeparators writes U+2028 and U+2029 as they are. encoding/json always escapes them; JSON.stringify does not.
func PlainSeparators(text []byte) []byte {
	const escape = `\u202`
	if !bytes.Contains(text, []byte(escape)) {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\' && bytes.HasPrefix(rest, []byte(escape+"8")):
			plain = append(plain, "\u2028"...)
			i += len(escape)
		case rest[0] == '\\' && bytes.HasPrefix(rest, []byte(escape+"9")):
			plain = append(plain, "\u2029"...)
			i += len(escape)
		case rest[0] == '\\':
			plain = append(plain, rest[:2]...) // an escape is at least two bytes: the second never starts another one
			i++
		default:
			plain = append(plain, rest[0])
		}
	}
	return plain
}
