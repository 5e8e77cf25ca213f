package schema

import (
	"slices"
	"strconv"
)

// Field is one member of an object schema.
type Field struct {
	Name   string
	Schema Schema
}

// Struct accepts an object with these members and checks them in this order. It drops unknown members, except those
// that CheckRefusing refuses.
func Struct(fields ...Field) Schema { return structSchema{fields: fields} }

type structSchema struct{ fields []Field }

func (s structSchema) check(c *checker, v Value) Value {
	if v.kind != Object {
		c.wrongType("object", v)
		return v
	}
	members := make([]Member, 0, min(len(s.fields), len(v.members)))
	unknown := len(v.members)
	for _, field := range s.fields {
		given := v.Get(field.Name)
		if given.Defined() {
			unknown--
		}
		if value := c.at(named(field.Name), field.Schema, given); value.Defined() {
			members = append(members, Member{Name: field.Name, Value: value})
		}
	}
	if c.refuse != nil && unknown > 0 {
		s.refuseUnknown(c, v)
	}
	return Value{kind: Object, members: members}
}

func (s structSchema) refuseUnknown(c *checker, v Value) {
	for _, member := range v.members {
		known := slices.ContainsFunc(s.fields, func(field Field) bool { return field.Name == member.Name })
		if !known && c.refuse(member.Name) {
			c.refused = append(c.refused,
				c.issue("Unrecognized key: "+strconv.Quote(member.Name)+" is not accepted here, and is refused rather than ignored",
					issueMember{"code", "unrecognized_keys"}, issueMember{"keys", []string{member.Name}}))
		}
	}
}

// Record accepts an object with any member names. Each value follows the schema values.
func Record(values Schema) Schema { return recordSchema{values: values} }

type recordSchema struct{ values Schema }

func (s recordSchema) check(c *checker, v Value) Value {
	if v.kind != Object {
		c.wrongType("record", v)
		return v
	}
	if s.values == Any() {
		return v
	}
	members := make([]Member, 0, len(v.members))
	for _, member := range v.members {
		members = append(members, Member{Name: member.Name, Value: c.at(named(member.Name), s.values, member.Value)})
	}
	return Value{kind: Object, members: members}
}

// List accepts an array whose elements follow one schema.
type List struct {
	items    Schema
	min, max int // max 0 is unlimited
}

// ListOf accepts an array of items.
func ListOf(items Schema) List { return List{items: items} }

// Min requires at least n elements.
func (s List) Min(n int) List { s.min = n; return s }

// Max allows at most n elements.
func (s List) Max(n int) List { s.max = n; return s }

func (s List) check(c *checker, v Value) Value {
	if v.kind != Array {
		c.wrongType("array", v)
		return v
	}
	checked := v.items
	if s.max > 0 {
		// the list is far too long: the issues of each element are several times its length
		checked = checked[:min(len(checked), 2*s.max)]
	}
	items := make([]Value, 0, len(checked))
	for i, item := range checked {
		items = append(items, c.at(step{index: i}, s.items, item))
	}
	if len(items) < s.min {
		c.tooSmall("array", strconv.Itoa(s.min), true, " items")
	}
	if s.max > 0 && len(items) > s.max {
		c.tooBig("array", strconv.Itoa(s.max), true, " items")
	}
	return Value{kind: Array, items: items}
}

// Variant is one form of a Tagged union: the tag's value and the schema of objects that carry it.
type Variant struct {
	Tag    string
	Schema Schema
}

// Tagged accepts an object in which the member named tag selects the variant.
func Tagged(tag string, variants ...Variant) Schema {
	return taggedSchema{tag: tag, variants: variants}
}

type taggedSchema struct {
	tag      string
	variants []Variant
}

func (s taggedSchema) check(c *checker, v Value) Value {
	if v.kind != Object {
		c.add("Invalid input: expected object, received "+v.received(),
			issueMember{"code", "invalid_type"}, issueMember{"expected", "object"})
		return v
	}
	tag := v.Get(s.tag)
	for _, variant := range s.variants {
		if tag.kind == String && tag.text == variant.Tag {
			return variant.Schema.check(c, v)
		}
	}
	c.path = append(c.path, named(s.tag))
	c.add("Invalid input", issueMember{"code", "invalid_union"}, issueMember{"errors", []any{}},
		issueMember{"note", "No matching discriminator"}, issueMember{"discriminator", s.tag})
	c.path = c.path[:len(c.path)-1]
	return v
}
