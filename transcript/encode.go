package transcript

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"harness/internal/lib/javascript"
)

// AppendJSON appends the entry in wire format, which equals the output of encoding/json without HTML escaping.
func (e *Entry) AppendJSON(dst []byte) []byte {
	if e.Source != nil {
		whole := e.Whole()
		return whole.AppendJSON(dst)
	}
	dst = appendText(append(dst, `{"messageId":`...), e.MessageID)
	dst = appendText(append(dst, `,"turnId":`...), e.TurnID)
	dst = appendText(append(dst, `,"role":`...), e.Role)
	dst = appendText(append(dst, `,"type":`...), e.Type)
	dst = appendText(append(dst, `,"content":`...), e.Content)
	if e.Details != nil {
		dst = appendText(append(dst, `,"details":`...), *e.Details)
	}
	return e.appendTail(dst)
}

// appendTail appends the members after the texts.
func (e *Entry) appendTail(dst []byte) []byte {
	if e.StartedAt != nil {
		dst = strconv.AppendInt(append(dst, `,"startedAt":`...), *e.StartedAt, 10)
	}
	if e.CompletedAt != nil {
		dst = strconv.AppendInt(append(dst, `,"completedAt":`...), *e.CompletedAt, 10)
	}
	dst = appendText(append(dst, `,"status":`...), string(e.Status))
	if e.DetailsBytes != 0 {
		dst = strconv.AppendInt(append(dst, `,"detailsBytes":`...), int64(e.DetailsBytes), 10)
	}
	return append(dst, '}')
}

// OmitDetails removes the details and sets DetailsBytes to their length. Do not store the entry afterwards.
func (e *Entry) OmitDetails() {
	whole := e.Whole()
	if *e = whole; e.Details != nil {
		e.DetailsBytes, e.Details = len(*e.Details), nil
	}
}

// AppendUpdate appends the event about the entry for readers of the session. The entry's own JSON starts at entry and
// ends before the last byte.
func (e *Entry) AppendUpdate(dst []byte, sessionID string) (out []byte, entry int) {
	dst = appendText(append(dst, `{"threadId":`...), sessionID)
	dst = appendText(append(dst, `,"turnId":`...), e.TurnID)
	dst = appendText(append(dst, `,"messageId":`...), e.MessageID)
	dst = appendText(append(dst, `,"type":`...), e.Type)
	dst = append(dst, `,"entry":`...)
	entry = len(dst)
	return append(e.AppendJSON(dst), '}'), entry
}

// AppendAnswer appends the answer to the sender of an upsert; entry is in the format of AppendJSON.
func AppendAnswer(dst []byte, sessionID string, entry []byte) []byte {
	dst = append(appendAnswered(dst, sessionID), `,"entry":`...)
	return append(append(dst, entry...), '}')
}

// AppendAnswers is AppendAnswer for an upsert of many entries.
func AppendAnswers(dst []byte, sessionID string, entries []json.RawMessage) []byte {
	dst = append(appendAnswered(dst, sessionID), `,"entries":[`...)
	for i, entry := range entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, entry...)
	}
	return append(dst, "]}"...)
}

func appendAnswered(dst []byte, sessionID string) []byte {
	return appendText(append(dst, `{"status":"ok","sessionId":`...), sessionID)
}

// Size estimates the entry's length as JSON.
func (e *Entry) Size() int {
	const names = 384
	size := names + len(e.MessageID) + len(e.TurnID) + len(e.Content) + len(e.Content)/16
	if e.Details != nil {
		size += len(*e.Details)
	}
	if e.Source != nil {
		size += e.Source.size()
	}
	return size
}

const hex = "0123456789abcdef"

// appendText appends a JSON string. Most bytes are copied in long runs.
func appendText(dst []byte, text string) []byte {
	return append(appendInner(append(dst, '"'), text), '"')
}

// appendInner is appendText without the quotes.
func appendInner(dst []byte, text string) []byte {
	start := 0
	for i := javascript.Verbatim(text); i < len(text); i += javascript.Verbatim(text[i:]) {
		c := text[i]
		if c < utf8.RuneSelf {
			dst = appendEscaped(append(dst, text[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, text[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, text[start:i]...), `\u202`...)
			dst = append(dst, hex[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(dst, text[start:]...)
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}
