package rest

import (
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/platform/database"
)

// Rules that several bodies and queries share. Schemas are immutable.
var (
	// Flag is a boolean in a query.
	Flag = schema.Enum("true", "false")
	// Name is any identifier, Key one that is part of an index.
	Name = schema.Text{}.Trim().Min(1)
	Key  = schema.Text{}.Trim().Min(1).Max(database.MaxKey)
	// RuntimeName names one of the server's runtimes.
	RuntimeName = schema.Text{}.Trim().Min(1).Max(operations.MaxRuntimeName)
	// Limit and Cursor select a page.
	Limit  = schema.Integer().Coerce().Min(1).Max(operations.MaxPage)
	Cursor = schema.Text{}.Trim().Min(1)
)

// Required is a mandatory member.
func Required(name string, s schema.Schema) schema.Field { return schema.Field{Name: name, Schema: s} }

// Optional is an optional member.
func Optional(name string, s schema.Schema) schema.Field {
	return schema.Field{Name: name, Schema: schema.Optional(s)}
}
