package transcript

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// cutEntry returns the entry's JSON from the stored value: that value itself, or a part of the event for readers
// (AppendUpdate). No text before the entry can contain the member's name, because a quote within a text is escaped.
func cutEntry(stored string) string {
	const name = `,"entry":`
	if !strings.HasPrefix(stored, `{"threadId":`) {
		return stored
	}
	from := strings.Index(stored, name)
	if from < 0 {
		return ""
	}
	return stored[from+len(name) : len(stored)-1]
}

// decodeEntry is the inverse of AppendJSON, and accepts nothing else. Texts without escapes share memory with the
// JSON.
func decodeEntry(encoded string) (Entry, error) {
	var e Entry
	d := decoder{rest: encoded, ok: true}
	e.MessageID = d.text(`{"messageId":"`)
	e.TurnID = d.text(`,"turnId":"`)
	e.Role = d.text(`,"role":"`)
	e.Type = d.text(`,"type":"`)
	e.Content = d.text(`,"content":"`)
	if details := `,"details":"`; d.has(details) {
		text := d.text(details)
		e.Details = &text
	}
	e.StartedAt = d.number(`,"startedAt":`)
	e.CompletedAt = d.number(`,"completedAt":`)
	e.Status = Status(d.text(`,"status":"`))
	if !d.ok || d.rest != "}" {
		return Entry{}, fmt.Errorf("what is stored is no entry: %.100q", encoded)
	}
	return e, nil
}

type decoder struct {
	rest string
	ok   bool
}

func (d *decoder) has(name string) bool { return strings.HasPrefix(d.rest, name) }

// text reads a text after its name and its opening quote.
func (d *decoder) text(name string) string {
	text, found := strings.CutPrefix(d.rest, name)
	if !found {
		d.ok = false
		return ""
	}
	end := strings.IndexByte(text, '"')
	escape := -1
	if end >= 0 {
		escape = strings.IndexByte(text[:end], '\\')
	}
	if end < 0 || escape >= 0 {
		return d.escaped(text, escape)
	}
	d.rest = text[end+1:]
	return text[:end]
}

// escaped reads a text up to its closing quote, given the position of its first escape.
func (d *decoder) escaped(text string, escape int) string {
	var b strings.Builder
	for escape >= 0 && escape+1 < len(text) {
		b.WriteString(text[:escape])
		size := 2
		switch c := text[escape+1]; c {
		case 'u':
			size = 6
			code, err := strconv.ParseUint(text[min(escape+2, len(text)):min(escape+6, len(text))], 16, 16)
			if err != nil || escape+6 > len(text) {
				d.ok = false
				return ""
			}
			b.WriteRune(rune(code))
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(c)
		}
		text = text[escape+size:]
		escape = strings.IndexAny(text, `"\`)
		if escape >= 0 && text[escape] == '"' {
			b.WriteString(text[:escape])
			d.rest = text[escape+1:]
			return b.String()
		}
	}
	d.ok = false
	return ""
}

func (d *decoder) number(name string) *int64 {
	text, found := strings.CutPrefix(d.rest, name)
	if !found {
		return nil
	}
	end := strings.IndexAny(text, ",}")
	if end < 0 {
		d.ok = false
		return nil
	}
	value, err := strconv.ParseInt(text[:end], 10, 64)
	d.ok = d.ok && err == nil
	d.rest = text[end:]
	return &value
}

// encodable reports whether JSON preserves the entry: it does not preserve bytes that are not UTF-8.
func encodable(e *Entry) bool {
	for _, text := range [...]string{e.MessageID, e.TurnID, e.Role, e.Type, e.Content, string(e.Status)} {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return e.Details == nil || utf8.ValidString(*e.Details)
}
