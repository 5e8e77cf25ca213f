package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/runtime"
)

// words are a text in JSON strings that follow each other, so that long ones of a line need not be copied. What is no
// string says nothing.
type words []json.RawMessage

func quoted(text string) json.RawMessage { return encode(text) }

// size is about how long (bytes) the text is.
func (w words) size() (size int) {
	for _, one := range w {
		size += len(one)
	}
	return size
}

// strings are those that are strings.
func (w words) strings() (out []json.RawMessage) {
	for _, one := range w {
		if len(one) > 2 && one[0] == '"' {
			out = append(out, one)
		}
	}
	return out
}

// text is all they say.
func (w words) text() string {
	var text strings.Builder
	for _, one := range w {
		text.WriteString(Text(one))
	}
	return Clean(text.String())
}

// summaryLine is what they say, for a summary: of more than maxSummary the beginning, which says so.
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

// Line is what a JSON string says, for a summary or a name: of a very long one the beginning, which says so. "" of what
// is no string.
func Line(raw json.RawMessage) string { return words{raw}.summaryLine() }

// maxSummary is how long (bytes) the summary of a request may be: it is shown in lists and stored with each event about
// the request, whose parameters have all of it.
const maxSummary = 64 << 10

// cut is the beginning of a text that is too long for a summary, with how long (bytes) it is.
func cut(text string, size int) string {
	return strings.ToValidUTF8(text[:min(len(text), maxSummary)], "") + fmt.Sprintf(
		"… (cut here: it has %d bytes, all of them are in the details)", size)
}

// beginning is a JSON string as far as a summary may need it.
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

// commandText reads a command given as text or as a list of words.
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
