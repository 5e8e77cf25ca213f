package stream

import (
	"encoding/json"
	"time"

	"harness/internal/lib/javascript"
)

// appendTime appends a time in ms as a JSON string.
func appendTime(dst []byte, ms int64) []byte {
	dst = append(dst, '"')
	dst = time.UnixMilli(ms).UTC().AppendFormat(dst, javascript.TimeLayout)
	return append(dst, '"')
}

// appendString appends a JSON string. Unlike json.Marshal it leaves <, > and & as they are, as the original's clients
// see them.
func appendString(dst []byte, s string) []byte {
	if isPlain(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	return append(dst, javascript.MustEncode(s)...) // a string always encodes: invalid UTF-8 becomes U+FFFD
}

// appendNullable appends a JSON string, or null for "".
func appendNullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

// appendRaw appends raw JSON, or fallback if there is none.
func appendRaw(dst []byte, raw json.RawMessage, fallback string) []byte {
	if len(raw) == 0 {
		return append(dst, fallback...)
	}
	return append(dst, raw...)
}

// appendMember appends `,"name":` (without the comma right after an opening brace).
func appendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
