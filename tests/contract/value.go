package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Value is decoded JSON that preserves the order of members, because codex-manager's clients see it.
type Value struct {
	keys    []string
	members map[string]*Value
	items   []*Value
	// scalar is nil, bool, string or json.Number; isObject and isArray distinguish containers from null.
	scalar            any
	isObject, isArray bool
}

// Decode reads one JSON text.
func Decode(raw []byte) (*Value, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := decode(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	return value, nil
}

func decode(decoder *json.Decoder) (*Value, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		value := &Value{isObject: true, members: map[string]*Value{}}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			member, err := decode(decoder)
			if err != nil {
				return nil, err
			}
			name := key.(string) //nolint:forcetypeassert // the decoder refuses other keys
			value.keys, value.members[name] = append(value.keys, name), member
		}
		_, err = decoder.Token()
		return value, err
	case json.Delim('['):
		value := &Value{isArray: true}
		for decoder.More() {
			item, err := decode(decoder)
			if err != nil {
				return nil, err
			}
			value.items = append(value.items, item)
		}
		_, err = decoder.Token()
		return value, err
	}
	return &Value{scalar: token}, nil
}

// Member returns an object's member.
func (v *Value) Member(name string) (*Value, bool) {
	member, has := v.members[name]
	return member, has
}

// Remove removes a member.
func (v *Value) Remove(name string) {
	if _, has := v.members[name]; has {
		delete(v.members, name)
		v.keys = slices.DeleteFunc(v.keys, func(key string) bool { return key == name })
	}
}

// member returns the text of an object's member.
func (v *Value) member(name string) string {
	if member, has := v.members[name]; has {
		return member.Text()
	}
	return ""
}

// Text returns a string's text, "" for any other type.
func (v *Value) Text() string {
	text, _ := v.scalar.(string)
	return text
}

// Encode writes the value as compact JSON in its order.
func (v *Value) Encode() []byte {
	var out bytes.Buffer
	v.encode(&out)
	return out.Bytes()
}

func (v *Value) encode(out *bytes.Buffer) {
	switch {
	case v.isObject:
		out.WriteByte('{')
		for i, key := range v.keys {
			if i > 0 {
				out.WriteByte(',')
			}
			encodeScalar(out, key)
			out.WriteByte(':')
			v.members[key].encode(out)
		}
		out.WriteByte('}')
	case v.isArray:
		out.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				out.WriteByte(',')
			}
			item.encode(out)
		}
		out.WriteByte(']')
	default:
		encodeScalar(out, v.scalar)
	}
}

func encodeScalar(out *bytes.Buffer, value any) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		fmt.Fprintf(out, "%q", err.Error()) // never happens for a decoded value
	}
	out.Truncate(out.Len() - 1) // the encoder's newline
}

// kind returns the JSON type.
func (v *Value) kind() string {
	switch v.scalar.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	switch {
	case v.isObject:
		return "object"
	case v.isArray:
		return "array"
	}
	return "null"
}
