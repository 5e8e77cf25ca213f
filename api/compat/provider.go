package compat

import (
	"net/http"
	"slices"
	"strings"

	"harness/api/rest"
	"harness/api/schema"
)

var (
	pageQuery = query(rest.Optional("cursor", rest.Cursor), rest.Optional("limit", rest.Limit))
	appsQuery = query(rest.Optional("cursor", rest.Cursor), rest.Optional("limit", rest.Limit),
		rest.Optional("threadId", rest.Name), rest.Optional("forceRefetch", rest.Flag))
	skillsQuery = query(rest.Optional("forceReload", rest.Flag), rest.Optional("cwd", rest.Name))
	skillConfig = schema.Struct(rest.Required("path", rest.Name), rest.Required("enabled", schema.Boolean()))
	remoteSkill = schema.Struct(rest.Required("hazelnutId", rest.Name), rest.Required("isPreload", schema.Boolean()))
	oauthBody   = schema.Optional(schema.Struct(
		rest.Optional("scopes", schema.ListOf(rest.Name)), rest.Optional("timeoutSecs", schema.Integer().Coerce().Above(0))))
	execBody = schema.Struct(
		rest.Required("command", schema.ListOf(rest.Name).Min(1)), rest.Optional("cwd", rest.Name),
		rest.Optional("timeoutMs", schema.Integer().Coerce().Above(0)))
	feedbackBody = schema.Struct(
		rest.Required("classification", rest.Name), rest.Required("includeLogs", schema.Boolean()),
		rest.Optional("reason", rest.Name), rest.Optional("threadId", rest.Name))
)

// providerRoutes list the runtime's skills, apps, MCP servers and commands.
func (m *Mount) providerRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: http.MethodGet, Path: "/api/features/experimental", Query: pageQuery, Mapped: true,
			Handle: m.passList("experimentalFeature/list", ofPage),
		},
		{Method: http.MethodGet, Path: "/api/collaboration/modes", Query: pageQuery, Mapped: true,
			Handle: m.passList("collaborationMode/list", ofQuery)},
		{Method: http.MethodGet, Path: "/api/apps", Query: appsQuery, Mapped: true, Handle: m.passList("app/list", ofQuery)},
		{Method: http.MethodGet, Path: "/api/skills", Query: skillsQuery, Mapped: true,
			Handle: m.passList("skills/list", skillsParams)},
		{
			Method: http.MethodPost, Path: "/api/skills/config", Access: rest.AccessAdmin, Body: skillConfig, Mapped: true,
			Details: about("path"), Handle: m.passResult("skills/config/write", ofBody),
		},
		{Method: http.MethodGet, Path: "/api/skills/remote", Mapped: true, Handle: m.passPlain("skills/remote/read", ofBody)},
		{
			Method: http.MethodPost, Path: "/api/skills/remote", Access: rest.AccessAdmin, Body: remoteSkill, Mapped: true,
			Details: about("hazelnutId"), Handle: m.passResult("skills/remote/write", ofBody),
		},
		{Method: http.MethodGet, Path: "/api/mcp/servers", Query: pageQuery,
			Handle: m.passList("mcpServerStatus/list", ofQuery)},
		{Method: http.MethodPost, Path: "/api/mcp/reload", Mapped: true,
			Handle: m.passResult("config/mcpServer/reload", noParams)},
		{
			Method: http.MethodPost, Path: "/api/mcp/servers/:serverName/oauth/login", Access: rest.AccessAdmin, Body: oauthBody,
			Mapped: true, Details: serverDetails, Handle: m.passResult("mcpServer/oauth/login", oauthParams),
		},
		{
			Method: http.MethodPost, Path: "/api/commands/exec", Body: execBody, Mapped: true, Details: commandDetails,
			Handle: m.passResult("command/exec", ofBody),
		},
		{Method: http.MethodPost, Path: "/api/feedback", Body: feedbackBody, Mapped: true,
			Handle: m.passResult("feedback/upload", ofBody)},
	}
}

// ofPage is ofQuery for paginated lists. Clients that send no limit expect pages of 100.
func ofPage(in *rest.Input) any {
	members := in.Query.Members()
	if !in.Query.Get("limit").Defined() {
		members = append(slices.Clone(members), schema.Member{Name: "limit", Value: schema.NumberValue("100")})
	}
	return schema.ObjectValue(members...)
}

// skillsParams requests the skills of one directory, by default the runtime's own.
func skillsParams(in *rest.Input) any {
	var members []schema.Member
	if cwd := in.Query.Get("cwd"); cwd.Defined() {
		members = append(members, schema.Member{Name: "cwds", Value: schema.ArrayValue(cwd)})
	}
	if reload := in.Query.Get("forceReload"); reload.Defined() {
		members = append(members, schema.Member{Name: "forceReload", Value: schema.BoolValue(reload.Text() == "true")})
	}
	return schema.ObjectValue(members...)
}

func oauthParams(in *rest.Input) any {
	name := schema.Member{Name: "name", Value: schema.StringValue(in.Params["serverName"])}
	return schema.ObjectValue(append([]schema.Member{name}, in.Body.Members()...)...)
}

func serverDetails(method string, in *rest.Input) any {
	return struct {
		Method string `json:"method"`
		Name   string `json:"name"`
	}{method, in.Params["serverName"]}
}

func commandDetails(method string, in *rest.Input) any {
	words := make([]string, 0, len(in.Body.Get("command").Items()))
	for _, word := range in.Body.Get("command").Items() {
		words = append(words, word.Text())
	}
	return struct {
		Method  string `json:"method"`
		Command string `json:"command"`
	}{method, strings.Join(words, " ")}
}
