// Package jsonobject edits JSON objects whose members keep their order and their bytes.
//
// It owns reading, changing and writing one level of an object. It must never know what an object is about.
package jsonobject

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object as the list of its members; names do not repeat.
type Object []Member

// Member is one member of an object. Value is JSON.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Parse reads an object, nil when raw is none. Of members that have one name the last one counts, in the place of the first.
func Parse(raw json.RawMessage) Object {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	o := Object{}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return nil
		}
		o = o.Set(name, value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil // it does not end
	}
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
func (o Object) Encode() json.RawMessage {
	var out bytes.Buffer
	names := json.NewEncoder(&out)
	names.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, member := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		_ = names.Encode(member.Name) // every string has JSON
		out.Truncate(out.Len() - 1)   // the encoder ends the line
		out.WriteByte(':')
		out.Write(member.Value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
