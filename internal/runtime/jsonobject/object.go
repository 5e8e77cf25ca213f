// Package jsonobject edits JSON objects whose members keep their order and their bytes.
//
// It owns reading, changing and writing one level of an object. It must never know the meaning of an object.
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

// Parse reads an object, nil when raw is not one. Values are slices of raw, not copies: raw must not change
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
			_ = json.Unmarshal([]byte(`"`+name+`"`), &name) // Parse only reads valid strings
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

// Get returns the value of a member, nil when there is none.
func (o Object) Get(name string) json.RawMessage {
	for _, member := range o {
		if member.Name == name {
			return member.Value
		}
	}
	return nil
}

// Text returns the value of a string member, "" when there is none.
func (o Object) Text(name string) string {
	var text string
	_ = json.Unmarshal(o.Get(name), &text) // a value of another type has no text
	return text
}

// Replace changes a member in place; false when the object does not have it.
func (o Object) Replace(name string, value json.RawMessage) bool {
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
			return true
		}
	}
	return false
}

// Set changes a member in place, or appends it.
func (o Object) Set(name string, value json.RawMessage) Object {
	if o.Replace(name, value) {
		return o
	}
	return append(o, Member{name, value})
}

// Encode writes the object without spaces; it does not escape < > & in names.
func (o Object) Encode() json.RawMessage { return bytes.Join(o.Parts(), nil) }

// Parts returns the output of Encode as slices; no slice ends within a value. It does not copy values.
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
