package compat

import (
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
)

var (
	configQuery = query(rest.Optional("cwd", rest.Name), rest.Optional("includeLayers", rest.Flag))
	configEdit  = []schema.Field{rest.Required("keyPath", rest.Name),
		rest.Required("mergeStrategy", schema.Enum("replace", "upsert")), rest.Required("value", schema.Any())}
	configTarget = []schema.Field{rest.Optional("expectedVersion", rest.Name), rest.Optional("filePath", rest.Name)}
	configValue  = schema.Struct(append(append([]schema.Field{}, configEdit...), configTarget...)...)
	configBatch  = schema.Struct(
		append([]schema.Field{rest.Required("edits", schema.ListOf(schema.Struct(configEdit...)).Min(1))},
			configTarget...)...)
)

// configRoutes read and write the runtime's own configuration.
func (m *Mount) configRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/config", Access: rest.AccessOperator, Query: configQuery, Mapped: true,
			Handle: m.passPlain("config/read", ofQuery)},
		{Method: http.MethodGet, Path: "/api/config/requirements", Access: rest.AccessOperator, Mapped: true,
			Handle: m.passPlain("configRequirements/read", noParams)},
		{Method: http.MethodPost, Path: "/api/config/value", Access: rest.AccessAdmin, Body: configValue, Mapped: true,
			Details: about("keyPath"), Handle: m.passResult("config/value/write", ofBody)},
		{Method: http.MethodPost, Path: "/api/config/batch", Access: rest.AccessAdmin, Body: configBatch, Mapped: true,
			Handle: m.passResult("config/batchWrite", ofBody)},
	}
}
