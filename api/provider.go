package api

import (
	"net/http"
	"slices"
	"strings"

	"harness/api/schema"
)

var (
	pageQuery   = schema.Struct(optional("cursor", cursorField), optional("limit", limitField))
	appsQuery   = schema.Struct(optional("cursor", cursorField), optional("limit", limitField), optional("threadId", nameField), optional("forceRefetch", flagField))
	skillsQuery = schema.Struct(optional("forceReload", flagField), optional("cwd", nameField))
	skillConfig = schema.Struct(required("path", nameField), required("enabled", schema.Boolean()))
	remoteSkill = schema.Struct(required("hazelnutId", nameField), required("isPreload", schema.Boolean()))
	oauthBody   = schema.Optional(schema.Struct(
		optional("scopes", schema.ListOf(nameField)), optional("timeoutSecs", schema.Integer().Coerce().Above(0))))
	execBody = schema.Struct(
		required("command", schema.ListOf(nameField).Min(1)), optional("cwd", nameField), optional("timeoutMs", schema.Integer().Coerce().Above(0)))
	feedbackBody = schema.Struct(
		required("classification", nameField), required("includeLogs", schema.Boolean()), optional("reason", nameField), optional("threadId", nameField))
)

// providerRoutes are about what the runtime offers: models, skills, apps, MCP servers, commands.
func (s *server) providerRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/models", query: pageQuery, handle: s.passList("model/list", ofQuery)},
		{
			method: http.MethodGet, path: "/api/features/experimental", query: pageQuery, mapped: true,
			handle: s.passList("experimentalFeature/list", ofPage),
		},
		{method: http.MethodGet, path: "/api/collaboration/modes", query: pageQuery, mapped: true, handle: s.passList("collaborationMode/list", ofQuery)},
		{method: http.MethodGet, path: "/api/apps", query: appsQuery, mapped: true, handle: s.passList("app/list", ofQuery)},
		{method: http.MethodGet, path: "/api/skills", query: skillsQuery, mapped: true, handle: s.passList("skills/list", skillsParams)},
		{
			method: http.MethodPost, path: "/api/skills/config", body: skillConfig, mapped: true, details: about("path"),
			handle: s.passResult("skills/config/write", ofBody),
		},
		{method: http.MethodGet, path: "/api/skills/remote", mapped: true, handle: s.passPlain("skills/remote/read", ofBody)},
		{
			method: http.MethodPost, path: "/api/skills/remote", body: remoteSkill, mapped: true, details: about("hazelnutId"),
			handle: s.passResult("skills/remote/write", ofBody),
		},
		{method: http.MethodGet, path: "/api/mcp/servers", query: pageQuery, handle: s.passList("mcpServerStatus/list", ofQuery)},
		{method: http.MethodPost, path: "/api/mcp/reload", mapped: true, handle: s.passResult("config/mcpServer/reload", noParams)},
		{
			method: http.MethodPost, path: "/api/mcp/servers/:serverName/oauth/login", body: oauthBody, mapped: true, details: serverDetails,
			handle: s.passResult("mcpServer/oauth/login", oauthParams),
		},
		{
			method: http.MethodPost, path: "/api/commands/exec", body: execBody, mapped: true, details: commandDetails,
			handle: s.passResult("command/exec", ofBody),
		},
		{method: http.MethodPost, path: "/api/feedback", body: feedbackBody, mapped: true, handle: s.passResult("feedback/upload", ofBody)},
	}
}

// ofPage is ofQuery for a list that is longer than a page: clients that name no limit know pages of 100.
func ofPage(in *input) any {
	members := in.query.Members()
	if !in.query.Get("limit").Defined() {
		members = append(slices.Clone(members), schema.Member{Name: "limit", Value: schema.NumberValue("100")})
	}
	return schema.ObjectValue(members...)
}

// skillsParams asks for one directory's skills, or the runtime's own directory's.
func skillsParams(in *input) any {
	var members []schema.Member
	if cwd := in.query.Get("cwd"); cwd.Defined() {
		members = append(members, schema.Member{Name: "cwds", Value: schema.ArrayValue(cwd)})
	}
	if reload := in.query.Get("forceReload"); reload.Defined() {
		members = append(members, schema.Member{Name: "forceReload", Value: schema.BoolValue(reload.Text() == "true")})
	}
	return schema.ObjectValue(members...)
}

func oauthParams(in *input) any {
	name := schema.Member{Name: "name", Value: schema.StringValue(in.params["serverName"])}
	return schema.ObjectValue(append([]schema.Member{name}, in.body.Members()...)...)
}

func serverDetails(method string, in *input) any {
	return struct {
		Method string `json:"method"`
		Name   string `json:"name"`
	}{method, in.params["serverName"]}
}

func commandDetails(method string, in *input) any {
	words := make([]string, 0, len(in.body.Get("command").Items()))
	for _, word := range in.body.Get("command").Items() {
		words = append(words, word.Text())
	}
	return struct {
		Method  string `json:"method"`
		Command string `json:"command"`
	}{method, strings.Join(words, " ")}
}
