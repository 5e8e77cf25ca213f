package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/runtime"
)

// words are a text as consecutive JSON strings, so that long ones of a line need not be copied. Other JSON values are
// empty.
type words []json.RawMessage

func quoted(text string) json.RawMessage { return encode(text) }

// size is about the length of the text in bytes.
func (w words) size() (size int) {
	for _, one := range w {
		size += len(one)
	}
	return size
}

// strings are the strings among them.
func (w words) strings() (out []json.RawMessage) {
	for _, one := range w {
		if len(one) > 2 && one[0] == '"' {
			out = append(out, one)
		}
	}
	return out
}

// text is the whole text.
func (w words) text() string {
	var text strings.Builder
	for _, one := range w {
		text.WriteString(Text(one))
	}
	return Clean(text.String())
}

// summaryLine is the text for a summary: above maxSummary its beginning, which says so.
func (w words) summaryLine() string {
	size := w.size()
	if size > runtime.LongItem {
		short := make(words, len(w))
		for i, one := range w {
			short[i] = beginning(one)
		}
		return cut(short.text(), size)
	}
	text := w.text()
	if len(text) > maxSummary {
		return cut(text, len(text))
	}
	return text
}

// Line is a JSON string for a summary or a name: of a long one the beginning, which says so. "" for no string.
func Line(raw json.RawMessage) string { return words{raw}.summaryLine() }

// maxSummary bounds the summary of a request in bytes. Lists show it, and each event about the request stores it; the
// parameters have the whole.
const maxSummary = 64 << 10

// cut is the beginning of a text that is too long for a summary, with its length in bytes.
func cut(text string, size int) string {
	return strings.ToValidUTF8(text[:min(len(text), maxSummary)], "") + fmt.Sprintf(
		"… (cut here: it has %d bytes, all of them are in the details)", size)
}

// beginning is the part of a JSON string that a summary may need.
func beginning(one json.RawMessage) json.RawMessage {
	if len(one) <= maxSummary || one[0] != '"' {
		return one
	}
	end := 1
	for end < maxSummary {
		switch {
		case one[end] != '\\':
			end++
		case one[end+1] == 'u':
			end += 6
		default:
			end += 2
		}
	}
	return append([]byte(strings.ToValidUTF8(string(one[:end]), "")), '"')
}

// commandText reads a command that is a string or a list.
func commandText(raw json.RawMessage) (said words) {
	if len(raw) > 0 && raw[0] == '"' {
		return words{raw}
	}
	for word := range Elements(raw) {
		if said != nil {
			said = append(said, json.RawMessage(`" "`))
		}
		said = append(said, word)
	}
	return said
}
