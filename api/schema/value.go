// Package schema validates decoded JSON and query values as codex-manager does. It trims and coerces values, drops
// unknown fields, and creates issue objects with zod 4's members, order and messages.
//
// It owns values, schemas and issues. It must never know HTTP, a route, or a domain type.
package schema

import (
	"math"
	"strconv"
)

// Kind is the JSON type of a Value.
type Kind uint8

// The JSON types. Undefined is an absent body, member or query parameter; JSON has no such value.
const (
	Undefined Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Value is one decoded JSON value. The zero Value is Undefined. A number keeps its literal, so that it loses no
// precision before a schema requires a type. An untouched value keeps its source bytes, so that it can be passed on
// unchanged.
type Value struct {
	kind    Kind
	flag    bool
	text    string // the string, or the number's literal
	items   []Value
	members []Member
	raw     string // source bytes; "" when the value was built or changed
}

// Member is one member of an object, in source order.
type Member struct {
	Name  string
	Value Value
}

// StringValue returns a JSON string.
func StringValue(text string) Value { return Value{kind: String, text: text} }

// BoolValue returns a JSON boolean.
func BoolValue(flag bool) Value { return Value{kind: Bool, flag: flag} }

// NumberValue returns a JSON number with this literal, which must be valid JSON.
func NumberValue(literal string) Value { return Value{kind: Number, text: literal} }

// ArrayValue returns a JSON array.
func ArrayValue(items ...Value) Value { return Value{kind: Array, items: items} }

// ObjectValue returns a JSON object.
func ObjectValue(members ...Member) Value { return Value{kind: Object, members: members} }

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// Defined reports whether the value is present. null is present.
func (v Value) Defined() bool { return v.kind != Undefined }

// Text returns the string, or "" for any other type.
func (v Value) Text() string {
	if v.kind != String {
		return ""
	}
	return v.text
}

// TextPointer returns the string, or nil for any other type.
func (v Value) TextPointer() *string {
	if v.kind != String {
		return nil
	}
	text := v.text
	return &text
}

// True reports whether the value is the boolean true.
func (v Value) True() bool { return v.kind == Bool && v.flag }

// Float returns the number as JavaScript reads it (out of range is infinite), or NaN for any other type.
func (v Value) Float() float64 {
	if v.kind != Number {
		return math.NaN()
	}
	// On a range error ParseFloat returns the infinity JavaScript's JSON.parse would.
	number, _ := strconv.ParseFloat(v.text, 64)
	return number
}

// Int returns the number as an integer, or 0 outside JavaScript's safe integers.
func (v Value) Int() int64 {
	number := v.Float()
	if number != math.Trunc(number) || math.Abs(number) > maxSafeInteger {
		return 0
	}
	return int64(number)
}

// IntPointer is Int, but returns nil if the value is not a number.
func (v Value) IntPointer() *int64 {
	if v.kind != Number {
		return nil
	}
	number := v.Int()
	return &number
}

// Items returns the elements of an array.
func (v Value) Items() []Value { return v.items }

// Members returns the members of an object, in source order.
func (v Value) Members() []Member { return v.members }

// Get returns the member with that name, or Undefined if there is none.
func (v Value) Get(name string) Value {
	for i := range v.members {
		if v.members[i].Name == name {
			return v.members[i].Value
		}
	}
	return Value{}
}

// received names the type as zod's messages do.
func (v Value) received() string {
	switch v.kind {
	case Undefined:
		return "undefined"
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "unknown"
}
