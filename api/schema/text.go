package schema

import (
	"slices"
	"strconv"
	"strings"

	"harness/internal/lib/javascript"
)

// Text accepts a string.
type Text struct {
	trim     bool
	min, max int // in UTF-16 units; max 0 is unlimited
}

// Trim removes white space at both ends, before the length is checked.
func (s Text) Trim() Text { s.trim = true; return s }

// Min requires at least n UTF-16 units.
func (s Text) Min(n int) Text { s.min = n; return s }

// Max allows at most n UTF-16 units.
func (s Text) Max(n int) Text { s.max = n; return s }

func (s Text) check(c *checker, v Value) Value {
	if v.kind != String {
		c.wrongType("string", v)
		return v
	}
	if s.trim {
		if text := javascript.Trim(v.text); text != v.text {
			v = StringValue(text)
		}
	}
	if s.min > 0 || s.max > 0 {
		n := javascript.Length(v.text)
		if n < s.min {
			c.tooSmall("string", strconv.Itoa(s.min), true, " characters")
		}
		if s.max > 0 && n > s.max {
			c.tooBig("string", strconv.Itoa(s.max), true, " characters")
		}
	}
	return v
}

// Enum accepts one of the given strings.
func Enum(values ...string) Schema { return enumSchema{values: values} }

type enumSchema struct{ values []string }

func (s enumSchema) check(c *checker, v Value) Value {
	if v.kind == String && slices.Contains(s.values, v.text) {
		return v
	}
	quoted := make([]string, len(s.values))
	for i, value := range s.values {
		quoted[i] = `"` + value + `"`
	}
	c.add("Invalid option: expected one of "+strings.Join(quoted, "|"),
		issueMember{"code", "invalid_value"}, issueMember{"values", s.values})
	return v
}

// Boolean accepts true and false.
func Boolean() Schema { return booleanSchema{} }

type booleanSchema struct{}

func (booleanSchema) check(c *checker, v Value) Value {
	if v.kind != Bool {
		c.wrongType("boolean", v)
	}
	return v
}
