package wire

import (
	"encoding/json"
	"iter"

	"harness/internal/runtime/jsonobject"
)

// Members are those of an object in valid JSON that have the names, in that order, nil where it has none of a name, and
// all nil of what is no object. They are pieces of it, not copies.
func Members(object json.RawMessage, names ...string) []json.RawMessage {
	values := make([]json.RawMessage, len(names))
	jsonobject.Each(object, 0, func(name []byte, start, end int) {
		for i := range names {
			if string(name) == names[i] {
				values[i] = object[start:end:end]
			}
		}
	})
	return values
}

// Elements are those of a list in valid JSON, none of what is no list. They are pieces of it, not copies.
func Elements(list json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		more := true
		jsonobject.EachElement(list, 0, func(start, end int) { more = more && yield(list[start:end:end]) })
	}
}

func count(list json.RawMessage) (n int) {
	for range Elements(list) {
		n++
	}
	return n
}
