package wire

import (
	"encoding/json"
	"iter"

	"harness/internal/runtime/jsonobject"
)

// Members returns the named members of an object in valid JSON, in that order. A missing one is nil, and all are nil
// if there is no object. They are slices, not copies.
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

// Elements returns the elements of a list in valid JSON, none if there is no list. They are slices, not copies.
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
