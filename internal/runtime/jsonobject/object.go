// Package jsonobject edits JSON objects whose members keep their order and their bytes.
//
// It owns reading, changing and writing one level of an object. It must never know what an object is about.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"harness/internal/lib/javascript"
)

// Object is a JSON object as the list of its members; names do not repeat.
type Object []Member

// Member is one member of an object. Value is JSON.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Parse reads an object, nil when raw is none. Values are slices of raw, not copies: it must not change
// afterwards. Of members with the same name the last one counts, at the position of the first.
func Parse(raw json.RawMessage) Object {
	if start := space(raw); start == len(raw) || raw[start] != '{' || !json.Valid(raw) {
		return nil
	}
	o, places := Object{}, map[string]int{}
	Each(raw, 0, func(written []byte, start, end int) {
		value := raw[start:end:end]
		name := string(written)
		if bytes.IndexByte(written, '\\') >= 0 || !utf8.Valid(written) {
			_ = json.Unmarshal([]byte(`"`+name+`"`), &name) // what was read before is a string
		}
		if at, again := places[name]; again {
			o[at].Value = value
			return
		}
		places[name] = len(o)
		o = append(o, Member{name, value})
	})
	return o
}

// Get is the value of a member, nil when there is none.
func (o Object) Get(name string) json.RawMessage {
	for _, member := range o {
		if member.Name == name {
			return member.Value
		}
	}
	return nil
}

// Text is a member that is a string, "" when it is none.
func (o Object) Text(name string) string {
	var text string
	_ = json.Unmarshal(o.Get(name), &text) // another type is no text
	return text
}

// Replace changes a member in its place; false when the object does not have it.
func (o Object) Replace(name string, value json.RawMessage) bool {
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
			return true
		}
	}
	return false
}

// Set changes a member in its place, or appends it.
func (o Object) Set(name string, value json.RawMessage) Object {
	if o.Replace(name, value) {
		return o
	}
	return append(o, Member{name, value})
}

// Encode writes the object without spaces; < > & in names stay as they are.
func (o Object) Encode() json.RawMessage { return bytes.Join(o.Parts(), nil) }

// Parts is the output of Encode as slices, none of which ends within a value. Values are not copied.
func (o Object) Parts() [][]byte {
	parts := make([][]byte, 0, 2*len(o)+1)
	for i, member := range o {
		between := byte(',')
		if i == 0 {
			between = '{'
		}
		name := append([]byte{between}, javascript.MustEncode(member.Name)...)
		parts = append(parts, append(name, ':'), member.Value)
	}
	if len(o) == 0 {
		return append(parts, []byte("{}"))
	}
	return append(parts, []byte("}"))
}
