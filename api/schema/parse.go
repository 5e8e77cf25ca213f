package schema

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"harness/internal/lib/javascript"
)

// ErrInvalidJSON reports text that is not a JSON document, or has member names that poison a JavaScript prototype
// (`__proto__`, or `prototype` inside `constructor`). codex-manager refuses both with the same message.
var ErrInvalidJSON = errors.New("text is not acceptable JSON")

// Parse decodes a JSON document. With duplicate names, the last value wins, at the position of the first. Invalid
// UTF-8 becomes U+FFFD.
func Parse(data string) (Value, error) {
	data = strings.TrimPrefix(data, "\ufeff")
	if !utf8.ValidString(data) {
		data = strings.ToValidUTF8(data, "\ufffd")
	}
	r := reader{data: data}
	r.space()
	value := r.value()
	r.space()
	if r.failed || r.at != len(data) || r.poisoned {
		return Value{}, ErrInvalidJSON
	}
	return value, nil
}

// maxDepth limits the nesting, because accepted documents are passed on and stored inside others. codex reads 128
// levels and encoding/json 10,000. At those limits codex would not respond, or the stored row would be unreadable.
const maxDepth = 100

// reader parses and checks a document in one pass. After a failure, its position is the end of the data.
type reader struct {
	data             string
	at, depth        int
	failed, poisoned bool
	// unfit counts parts that cannot be passed on unchanged: unpaired surrogates and numbers beyond the range of a
	// double. Strict parsers such as codex refuse the whole document for one such part.
	unfit int
}

func (r *reader) fail() {
	r.failed = true
	r.at = len(r.data)
}

// next returns the next byte, or 0 at the end. No document has a 0 byte outside a string.
func (r *reader) next() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

// expect reads this text.
func (r *reader) expect(text string) {
	if !strings.HasPrefix(r.data[r.at:], text) {
		r.fail()
		return
	}
	r.at += len(text)
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

func (r *reader) value() Value {
	start, unfit := r.at, r.unfit
	var value Value
	switch r.next() {
	case '{':
		value = r.object()
	case '[':
		value = r.array()
	case '"':
		value = Value{kind: String, text: r.text()}
	case 't':
		r.expect("true")
		value = Value{kind: Bool, flag: true}
	case 'f':
		r.expect("false")
		value = Value{kind: Bool}
	case 'n':
		r.expect("null")
		value = Value{kind: Null}
	default:
		r.number()
		value = Value{kind: Number, text: r.part(min(start, r.at), r.at)}
		if math.IsInf(value.Float(), 0) {
			r.unfit++
		}
	}
	if r.unfit == unfit {
		value.raw = r.data[start:r.at]
	}
	return value
}

func isNumberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func (r *reader) digits() {
	if !isDigit(r.next()) {
		r.fail()
	}
	for isDigit(r.next()) {
		r.at++
	}
}

func (r *reader) number() {
	if r.next() == '-' {
		r.at++
	}
	if r.next() == '0' {
		r.at++ // and no digit after it
	} else {
		r.digits()
	}
	if r.next() == '.' {
		r.at++
		r.digits()
	}
	if r.next() == 'e' || r.next() == 'E' {
		r.at++
		if r.next() == '+' || r.next() == '-' {
			r.at++
		}
		r.digits()
	}
}

// smallDocument is the maximum size, in bytes, of a document that shares memory with its strings. The strings of a
// larger document are copies, because a stored name must not keep the whole document in memory.
const smallDocument = 8 << 10

func (r *reader) part(from, to int) string {
	if len(r.data) <= smallDocument {
		return r.data[from:to]
	}
	return strings.Clone(r.data[from:to])
}

func (r *reader) text() string {
	start := r.at
	if r.next() != '"' {
		r.fail()
		return ""
	}
	escaped := false
	for i := start + 1 + javascript.Verbatim(r.data[start+1:]); i < len(r.data); i++ {
		switch c := r.data[i]; {
		case c == '"':
			r.at = i + 1
			if !escaped {
				return r.part(start+1, i)
			}
			var text string
			if err := json.Unmarshal([]byte(r.data[start:r.at]), &text); err != nil {
				break // an invalid escape
			}
			if strings.ContainsRune(text, utf8.RuneError) {
				r.unfit++
			}
			return text
		case c == '\\':
			escaped = true
			i++ // a quote after the backslash does not end the string
			continue
		case c < ' ':
		default:
			continue
		}
		break
	}
	r.fail()
	return ""
}

// deeper enters an array or object.
func (r *reader) deeper() {
	r.at++
	if r.depth++; r.depth > maxDepth {
		r.fail()
	}
}

// another runs after an element and reports whether another element follows. It also reads the end.
func (r *reader) another(end byte) bool {
	r.space()
	switch r.next() {
	case ',':
		r.at++
		r.space()
		return true
	case end:
		r.at++
		r.depth--
	default:
		r.fail()
	}
	return false
}

// empty reads the end of an array or object without elements.
func (r *reader) empty(end byte) bool {
	r.space()
	if r.next() != end {
		return false
	}
	r.at++
	r.depth--
	return true
}

func (r *reader) array() Value {
	r.deeper()
	items := []Value{}
	if r.empty(']') {
		return Value{kind: Array, items: items}
	}
	for more := true; more; more = r.another(']') {
		items = append(items, r.value())
	}
	return Value{kind: Array, items: items}
}

// indexedFrom is the member count from which a map detects duplicates. The map avoids quadratic time for many
// members.
const indexedFrom = 24

// usualMembers is the initial capacity for members: most bodies have no more.
const usualMembers = 10

func (r *reader) object() Value {
	r.deeper()
	if r.empty('}') {
		return Value{kind: Object}
	}
	var index map[string]int
	members := make([]Member, 0, usualMembers)
	for more := true; more; more = r.another('}') {
		name := r.text()
		r.space()
		r.expect(":")
		r.space()
		value := r.value()
		if name == "__proto__" || name == "constructor" && value.Get("prototype").Defined() {
			r.poisoned = true
		}
		place := -1
		if index != nil {
			if found, ok := index[name]; ok {
				place = found
			}
		} else {
			for i := range members {
				if members[i].Name == name {
					place = i
				}
			}
		}
		if place >= 0 {
			members[place].Value = value
		} else {
			members = append(members, Member{Name: name, Value: value})
			place = len(members) - 1
		}
		if index == nil && len(members) >= indexedFrom {
			index = make(map[string]int, 2*len(members))
			for i := range members {
				index[members[i].Name] = i
			}
		} else if index != nil {
			index[name] = place
		}
	}
	return Value{kind: Object, members: members}
}
