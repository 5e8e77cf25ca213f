package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// ErrInvalidJSON says that the text is no JSON document, or one with member names that poison a JavaScript prototype (`__proto__`, or `prototype`
// inside `constructor`), which codex-manager refuses in the same words.
var ErrInvalidJSON = errors.New("text is not acceptable JSON")

// Parse decodes a JSON document. Duplicate names: the last value wins, at the place of the first. Invalid UTF-8 becomes U+FFFD.
// The value may refer to data, which must not be changed afterwards.
func Parse(data []byte) (Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	// json.Valid also bounds the nesting, so that the recursive reader below cannot exhaust the stack.
	if !json.Valid(data) {
		return Value{}, ErrInvalidJSON
	}
	r := reader{data: data}
	r.space()
	value := r.value()
	if r.poisoned {
		return Value{}, ErrInvalidJSON
	}
	return value, nil
}

// reader walks a document that is known to be valid, so it checks nothing twice.
type reader struct {
	data     []byte
	at       int
	poisoned bool
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
	start := r.at
	var value Value
	switch r.data[r.at] {
	case '{':
		value = r.object()
	case '[':
		value = r.array()
	case '"':
		value = Value{kind: String, text: r.text()}
	case 't':
		r.at += len("true")
		value = Value{kind: Bool, flag: true}
	case 'f':
		r.at += len("false")
		value = Value{kind: Bool}
	case 'n':
		r.at += len("null")
		value = Value{kind: Null}
	default:
		for r.at < len(r.data) && isNumberByte(r.data[r.at]) {
			r.at++
		}
		value = Value{kind: Number, text: string(r.data[start:r.at])}
	}
	value.raw = r.data[start:r.at:r.at]
	return value
}

func isNumberByte(b byte) bool {
	return b >= '0' && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'
}

func (r *reader) text() string {
	start := r.at
	r.at++
	escaped := false
	for r.data[r.at] != '"' {
		if r.data[r.at] == '\\' {
			escaped = true
			r.at++
		}
		r.at++
	}
	r.at++
	if !escaped {
		return string(r.data[start+1 : r.at-1])
	}
	var text string
	if err := json.Unmarshal(r.data[start:r.at], &text); err != nil {
		// The document was validated: only a defect of ours gets here.
		panic("schema: unescape valid string: " + err.Error())
	}
	return text
}

func (r *reader) array() Value {
	r.at++
	items := []Value{}
	for {
		r.space()
		if r.data[r.at] == ']' {
			r.at++
			return Value{kind: Array, items: items}
		}
		items = append(items, r.value())
		r.space()
		if r.data[r.at] == ',' {
			r.at++
		}
	}
}

// indexedFrom is the member count from which duplicates are found through a map: many members must not cost quadratic time.
const indexedFrom = 24

func (r *reader) object() Value {
	r.at++
	var members []Member
	var index map[string]int
	for {
		r.space()
		if r.data[r.at] == '}' {
			r.at++
			return Value{kind: Object, members: members}
		}
		name := r.text()
		r.space()
		r.at++ // the colon
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
		r.space()
		if r.data[r.at] == ',' {
			r.at++
		}
	}
}
