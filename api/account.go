package api

import (
	"net/http"

	"harness/api/schema"
)

var (
	typeTag   = required("type", schema.Any())
	loginBody = schema.Tagged("type",
		schema.Variant{Tag: "apiKey", Schema: schema.Struct(typeTag, required("apiKey", nameField))},
		schema.Variant{Tag: "chatgpt", Schema: schema.Struct(typeTag)},
		schema.Variant{Tag: "chatgptAuthTokens", Schema: schema.Struct(
			typeTag, required("accessToken", nameField), required("chatgptAccountId", nameField), optional("chatgptPlanType", nameField))})
	cancelLoginBody = schema.Struct(required("loginId", nameField))
)

// accountRoutes are about who the runtime is logged in as.
func (s *server) accountRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/account", mapped: true, handle: s.passPlain("account/read", ofBody)},
		{
			method: http.MethodPost, path: "/api/account/login/start", body: loginBody, mapped: true, details: about("type"),
			handle: s.passResult("account/login/start", ofBody),
		},
		{
			method: http.MethodPost, path: "/api/account/login/cancel", body: cancelLoginBody, mapped: true, details: about("loginId"),
			handle: s.passResult("account/login/cancel", ofBody),
		},
		{method: http.MethodPost, path: "/api/account/logout", mapped: true, handle: s.passResult("account/logout", noParams)},
		{method: http.MethodGet, path: "/api/account/rate-limits", mapped: true, handle: s.passPlain("account/rateLimits/read", noParams)},
	}
}
