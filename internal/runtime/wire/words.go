package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/runtime"
)

// words are a text as consecutive JSON strings, which avoids copies of long strings in a line. Other JSON values
// count as empty.
type words []json.RawMessage

func quoted(text string) json.RawMessage { return encode(text) }

// size returns the approximate length of the text in bytes.
func (w words) size() (size int) {
	for _, one := range w {
		size += len(one)
	}
	return size
}

// strings returns the elements that are JSON strings.
func (w words) strings() (out []json.RawMessage) {
	for _, one := range w {
		if len(one) > 2 && one[0] == '"' {
			out = append(out, one)
		}
	}
	return out
}

// text returns the whole text.
func (w words) text() string {
	var text strings.Builder
	for _, one := range w {
		text.WriteString(Text(one))
	}
	return Clean(text.String())
}

// summaryLine returns the text for a summary. Above maxSummary it is the beginning, marked as such.
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

// Line returns a JSON string for a summary or a name. Of a long one it returns the beginning, marked as such. "" for
// no string.
func Line(raw json.RawMessage) string { return words{raw}.summaryLine() }

// maxSummary bounds the summary of a request in bytes. Lists show it, and each event of the request stores it. The
// parameters have the whole text.
const maxSummary = 64 << 10

// cut returns the beginning of a text that is too long for a summary, with its length in bytes.
func cut(text string, size int) string {
	return strings.ToValidUTF8(text[:min(len(text), maxSummary)], "") + fmt.Sprintf(
		"… (cut here: it has %d bytes, all of them are in the details)", size)
}

// beginning returns the part of a JSON string that a summary may need.
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
