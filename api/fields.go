package api

import (
	"harness/api/schema"
	"harness/database"
)

// The rules several bodies share. Schemas are immutable.
var (
	approvalPolicyField    = schema.Enum("untrusted", "on-failure", "on-request", "never")
	networkAccessField     = schema.Enum("restricted", "enabled")
	filesystemSandboxField = schema.Enum("read-only", "workspace-write", "danger-full-access")
	effortField            = schema.Enum("none", "minimal", "low", "medium", "high", "xhigh")
	flagField              = schema.Enum("true", "false")                     // a boolean in a query
	nameField              = schema.Text{}.Trim().Min(1)                      // any identifier
	keyField               = schema.Text{}.Trim().Min(1).Max(database.MaxKey) // an identifier that is part of an index
	limitField             = schema.Integer().Coerce().Min(1).Max(200)
	cursorField            = schema.Text{}.Trim().Min(1)
	// modelField is not trimmed before its length is looked at: "  " passes and then means no model.
	modelField        = schema.Text{}.Min(1)
	dynamicToolsField = schema.ListOf(schema.Struct(
		schema.Field{Name: "name", Schema: nameField},
		schema.Field{Name: "description", Schema: nameField},
		schema.Field{Name: "inputSchema", Schema: schema.Record(schema.Any())},
	)).Max(128)
)

func required(name string, s schema.Schema) schema.Field { return schema.Field{Name: name, Schema: s} }

func optional(name string, s schema.Schema) schema.Field {
	return schema.Field{Name: name, Schema: schema.Optional(s)}
}
