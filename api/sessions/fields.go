package sessions

import (
	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
)

// Rules that several bodies about sessions share. Schemas are immutable.
var (
	approvalPolicyField    = schema.Enum("untrusted", "on-failure", "on-request", "never")
	networkAccessField     = schema.Enum("restricted", "enabled")
	filesystemSandboxField = schema.Enum("read-only", "workspace-write", "danger-full-access")
	effortField            = schema.Enum("none", "minimal", "low", "medium", "high", "xhigh")
	// modelField is checked for length before trimming: "  " passes and then means no model.
	modelField        = schema.Text{}.Min(1)
	dynamicToolsField = schema.ListOf(schema.Struct(
		rest.Required("name", rest.Name),
		rest.Required("description", rest.Name),
		rest.Required("inputSchema", schema.Record(schema.Any())),
	)).Max(operations.MaxTools)
)
