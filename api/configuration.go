package api

import (
	"net/http"

	"harness/api/schema"
)

var (
	configQuery  = schema.Struct(optional("cwd", nameField), optional("includeLayers", flagField))
	configEdit   = []schema.Field{required("keyPath", nameField), required("mergeStrategy", schema.Enum("replace", "upsert")), required("value", schema.Any())}
	configTarget = []schema.Field{optional("expectedVersion", nameField), optional("filePath", nameField)}
	configValue  = schema.Struct(append(append([]schema.Field{}, configEdit...), configTarget...)...)
	configBatch  = schema.Struct(append([]schema.Field{required("edits", schema.ListOf(schema.Struct(configEdit...)).Min(1))}, configTarget...)...)
)

// configRoutes read and write the runtime's own configuration.
func (s *server) configRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/config", query: configQuery, mapped: true, handle: s.passPlain("config/read", ofQuery)},
		{method: http.MethodGet, path: "/api/config/requirements", mapped: true, handle: s.passPlain("configRequirements/read", noParams)},
		{method: http.MethodPost, path: "/api/config/value", body: configValue, mapped: true, details: about("keyPath"), handle: s.passResult("config/value/write", ofBody)},
		{method: http.MethodPost, path: "/api/config/batch", body: configBatch, mapped: true, handle: s.passResult("config/batchWrite", ofBody)},
	}
}
