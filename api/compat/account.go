package compat

import (
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
)

var (
	typeTag   = rest.Required("type", schema.Any())
	loginBody = schema.Tagged("type",
		schema.Variant{Tag: "apiKey", Schema: schema.Struct(typeTag, rest.Required("apiKey", rest.Name))},
		schema.Variant{Tag: "chatgpt", Schema: schema.Struct(typeTag)},
		schema.Variant{Tag: "chatgptAuthTokens", Schema: schema.Struct(
			typeTag, rest.Required("accessToken", rest.Name), rest.Required("chatgptAccountId", rest.Name),
			rest.Optional("chatgptPlanType", rest.Name))})
	cancelLoginBody = schema.Struct(rest.Required("loginId", rest.Name))
)

// accountRoutes manage the account that the runtime is logged in with.
func (m *Mount) accountRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/account", Mapped: true, Handle: m.passPlain("account/read", ofBody)},
		{
			Method: http.MethodPost, Path: "/api/account/login/start", Access: rest.AccessAdmin, Body: loginBody, Mapped: true,
			Details: about("type"), Handle: m.passResult("account/login/start", ofBody),
		},
		{
			Method: http.MethodPost, Path: "/api/account/login/cancel", Access: rest.AccessAdmin, Body: cancelLoginBody,
			Mapped: true, Details: about("loginId"), Handle: m.passResult("account/login/cancel", ofBody),
		},
		{Method: http.MethodPost, Path: "/api/account/logout", Access: rest.AccessAdmin, Mapped: true,
			Handle: m.passResult("account/logout", noParams)},
		{Method: http.MethodGet, Path: "/api/account/rate-limits", Mapped: true,
			Handle: m.passPlain("account/rateLimits/read", noParams)},
	}
}
