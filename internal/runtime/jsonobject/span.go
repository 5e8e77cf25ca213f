package jsonobject

import "bytes"

// Each visits the members of the object that begins at a place of valid JSON, in order, without reading them: the name
// as it is written, without its quotes, and where the value begins and ends. It visits nothing when another value
// stands there.
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

// EachElement visits the elements of the list that begins at a place of valid JSON, in order: where each begins and
// ends. It visits nothing when another value stands there.
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

// EachString visits the strings of valid JSON, at whatever depth, names as well: where the inside of each begins and
// ends, and the name as it is written of the member it is the value of, nil when it is of none.
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

// space is how much white space something begins with.
func space(raw []byte) (n int) {
	for n < len(raw) && (raw[n] == ' ' || raw[n] == '\t' || raw[n] == '\r' || raw[n] == '\n') {
		n++
	}
	return n
}

// stringEnd is where the string ends that something begins with: at the first quote after an even number of
// backslashes.
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

// value is the length of the JSON value something begins with.
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
