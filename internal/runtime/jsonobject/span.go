package jsonobject

import "bytes"

// Each visits the members of the object at a position of valid JSON, in order, without decoding them. visit gets the
// escaped name without its quotes, and the start and end of the value. Each visits nothing when the value is no
// object.
func Each(raw []byte, object int, visit func(name []byte, start, end int)) {
	at := object + space(raw[object:])
	if at >= len(raw) || raw[at] != '{' {
		return
	}
	for at++; ; {
		at += space(raw[at:])
		if raw[at] == '}' {
			return
		}
		if raw[at] == ',' {
			at++
			continue
		}
		key := raw[at : at+value(raw[at:])]
		at += len(key)
		at += space(raw[at:])
		at++ // the colon
		at += space(raw[at:])
		size := value(raw[at:])
		visit(key[1:len(key)-1], at, at+size)
		at += size
	}
}

// EachElement visits the elements of the list at a position of valid JSON, in order. visit gets the start and end of
// each. It visits nothing when the value is no list.
func EachElement(raw []byte, list int, visit func(start, end int)) {
	at := list + space(raw[list:])
	if at >= len(raw) || raw[at] != '[' {
		return
	}
	for at++; ; {
		at += space(raw[at:])
		switch raw[at] {
		case ']':
			return
		case ',':
			at++
			continue
		}
		size := value(raw[at:])
		visit(at, at+size)
		at += size
	}
}

// EachString visits all strings of valid JSON at any depth, including names. visit gets the start and end of the text
// without quotes. member is the escaped name of the member with this value, nil when there is none.
func EachString(raw []byte, visit func(member []byte, start, end int)) {
	var last []byte
	for at := 0; ; {
		next := bytes.IndexByte(raw[at:], '"')
		if next < 0 {
			return
		}
		if string(bytes.TrimSpace(raw[at:at+next])) != ":" {
			last = nil
		}
		at += next
		end := at + stringEnd(raw[at:])
		visit(last, at+1, end)
		last = raw[at+1 : end]
		at = end + 1
	}
}

// space returns the number of leading white space bytes.
func space(raw []byte) (n int) {
	for n < len(raw) && (raw[n] == ' ' || raw[n] == '\t' || raw[n] == '\r' || raw[n] == '\n') {
		n++
	}
	return n
}

// stringEnd returns the end of the string at the start of raw: the first quote after an even number of backslashes.
func stringEnd(raw []byte) int {
	for at := 1; ; at++ {
		at += bytes.IndexByte(raw[at:], '"')
		first := at
		for raw[first-1] == '\\' {
			first--
		}
		if (at-first)%2 == 0 {
			return at
		}
	}
}

// value returns the length of the JSON value at the start of raw.
func value(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i += stringEnd(raw[i:])
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
			if depth < 0 {
				return i
			}
		case ',', ' ', '\t', '\r', '\n', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(raw)
}
