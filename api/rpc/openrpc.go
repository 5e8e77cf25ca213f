package rpc

import (
	"maps"
	"slices"
	"strings"

	"harness/api/rpc/registry"
	"harness/api/rpc/wire"
)

func ref(name string) schema { return schema{"$ref": "#/components/schemas/" + name} }

// object returns the schema of a result with these members.
func object(members ...string) schema {
	return schema{"type": "object", "required": append([]string{}, members...)}
}

// openRPC is the version of the document's format.
const openRPC = "1.2.6"

// document describes every method, sorted by name. Members that name a runtime list this server's runtimes.
func (s *Server) document() (any, error) {
	made, err := s.registry()
	if err != nil {
		return nil, err
	}
	agents := made.IDs()
	names := make([]string, 0, len(s.methods))
	for name := range s.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	methods := make([]any, len(names))
	for i, name := range names {
		methods[i] = s.methods[name].document(agents)
	}
	return schema{
		"openrpc": openRPC,
		"info": schema{"title": "Harness JSON-RPC", "version": protocolVersion,
			"description": "One websocket at /rpc, or POST /rpc. Call initialize first: its response names the runtimes and their methods."},
		"methods":    methods,
		"components": schema{"schemas": schemas(agents), "errors": documentedErrors()},
	}, nil
}

func (m *method) document(agents []string) schema {
	params := []any{}
	for _, p := range m.params {
		params = append(params, schema{"name": p.name, "description": p.doc, "required": p.required,
			"schema": p.schema(agents)})
	}
	failures := []any{}
	for _, name := range m.failures() {
		failures = append(failures, schema{"$ref": "#/components/errors/" + name})
	}
	return schema{
		"name": m.name, "summary": m.summary, "paramStructure": "by-name", "params": params,
		"result": schema{"name": strings.ReplaceAll(m.name, "/", "_") + "_result", "schema": m.result}, "errors": failures,
		"x-role": string(m.role), "x-needs-websocket": m.scope == scopeSocket || m.socket,
	}
}

// failures returns the names of a method's errors, without those of the protocol.
func (m *method) failures() []string {
	names := []string{"InvalidParams", "InternalError", "Forbidden"}
	for _, p := range m.params {
		if p.name == "session_id" {
			names = append(names, "SessionNotFound", "SessionDeleted")
		}
	}
	return names
}

func documentedErrors() schema {
	return schema{
		"InvalidParams": schema{"code": wire.CodeInvalidParams, "message": "Invalid params",
			"data": "{field, reason}, or {agent_type, method, supported_agent_types}"},
		"InternalError": schema{"code": wire.CodeInternal, "message": "Internal error",
			"data": "{code, agent_type, method, status, reason, retryable}"},
		"SessionNotFound": schema{"code": codeSessionNotFound, "message": "Session not found", "data": "{session_id}"},
		"SessionDeleted": schema{"code": codeSessionDeleted, "message": "Session was permanently deleted",
			"data": "{session_id, deleted_at}"},
		"Forbidden": schema{"code": codeForbidden, "message": "Forbidden", "data": "{required_role}"},
	}
}

// props returns the schema of an object with typed members, all required except those whose name ends in a question
// mark.
func props(members map[string]any) schema {
	required, properties := []string{}, schema{}
	for name, kind := range members {
		bare, optional := strings.CutSuffix(name, "?")
		if !optional {
			required = append(required, bare)
		}
		if word, is := kind.(string); is {
			kind = schema{"type": word}
		}
		properties[bare] = kind
	}
	slices.Sort(required)
	return schema{"type": "object", "required": required, "properties": properties}
}

func list(of any) schema { return schema{"type": "array", "items": of} }

func words(all ...string) schema { return schema{"type": "string", "enum": all} }

// schemas returns the types that several methods share.
func schemas(agents []string) schema {
	agent := words(agents...)
	texts, null := list(schema{"type": "string"}), schema{"type": []string{"string", "null"}}
	statuses := words("running", "historical", "stopped", "starting", "stopping", "error", "attached", "started",
		"existing", "not_found")
	flags := schema{"type": "object", "additionalProperties": schema{"type": "boolean"}}
	program := props(map[string]any{"name": "string", "version": "string"})
	task := props(map[string]any{"id": "string", "kind": words("command", "agent", "monitor"), "command": "string", "turnId": "string",
		"startedAt": "string", "canEnd": "boolean"})
	one := map[string]any{
		"activity":   props(map[string]any{"turn": null, "background": list(task)}),
		"session_id": "string", "id": "string", "workspace_id": "string", "agent_type": agent, "summary": "string",
		"project_path": "string", "status": statuses, "started_at": "string", "last_updated": "string",
		"last_active": "string", "model?": null, "start_time": "string", "message_count": "integer",
	}
	state := map[string]any{
		"runtime_state": words("idle", "running", "waiting", "error", "stopped"), "claude_state": "string",
		"claude_session_id": "string", "is_running": "boolean", "waiting_for_input": "boolean",
		"pending_tool_use_id?": "string", "pending_tool_name?": "string", "error?": "string", "viewers": texts,
	}
	for name, kind := range one {
		state[name] = kind
	}
	all := schema{
		"InitializeResult": props(map[string]any{"protocolVersion": "string", "serverInfo": program, "server_info": program,
			"clientId": "string", "capabilities": props(map[string]any{
				"agent": flags, "git": flags, "file": flags, "repository": flags, "notifications": texts,
				"supportedAgents": list(agent), "resume": flags, "runtimeRegistry": ref("RuntimeRegistry"),
			})}),
		"RuntimeRegistry": props(map[string]any{"schemaVersion": words(registry.SchemaVersion),
			"generatedAt":    schema{"type": "string", "format": "date-time"},
			"defaultRuntime": agent, "runtimes": list(ref("Runtime")),
			"routing": props(map[string]any{"agentTypeField": words(agentField), "defaultAgentType": agent,
				"requiredOnMethods": list(words(registry.RequiredOn()...))})}),
		"Runtime": props(map[string]any{"id": agent, "displayName": "string",
			"status": words("active", "preview", "deprecated", "disabled"), "statusReason": null,
			"sessionListSource":     words("workspaceHistory", "runtimeScoped"),
			"sessionMessagesSource": words("workspaceScoped", "runtimeScoped"),
			"sessionWatchSource":    words("workspaceScoped", "runtimeScoped"), "requiresWorkspaceActivationOnResume": "boolean",
			"requiresSessionResolutionOnNewSession": "boolean", "supportsResume": "boolean",
			"supportsInteractiveQuestions": "boolean", "supportsPermissions": "boolean",
			"methods": methodNames(), "capabilities": "object", "version": "string"}),
		"Session":      props(one),
		"SessionState": props(state),
		"StartResult": props(map[string]any{"session_id": "string", "id": "string", "workspace_id": "string",
			"agent_type": agent, "status": statuses, "source": words("", "history", "managed"), "message": "string",
			"started_at?": "string", "has_pending_permission?": "boolean"}),
		"SendResult": props(map[string]any{"status": words("sent", "queued"), "session_id": "string", "agent_type": agent,
			"turn_id": "string", "steered": "boolean", "message_id?": "string", "queue_position?": "integer",
			"workspace_id?": "string", "auto_created?": "boolean"}),
		"StopResult": props(map[string]any{"success": "boolean", "status": words("stopped"), "session_id": "string",
			"agent_type": agent, "ended_background?": list(task), "background?": list(task)}),
		"InputResult": props(map[string]any{"status": words("sent"), "agent_type": agent, "key?": "string"}),
	}
	maps.Copy(all, pageSchemas())
	return all
}

// methodNames returns the type that maps purposes to a runtime's methods.
func methodNames() schema {
	methods := map[string]any{}
	for _, name := range []string{"history", "messages", "watch", "unwatch", "start", "send", "stop", "input", "respond",
		"state?"} {
		methods[name] = words(registry.Named()...)
	}
	return props(methods)
}

// pageSchemas returns the types of lists, decisions and session viewers.
func pageSchemas() schema {
	return schema{
		"PermissionResult": props(map[string]any{"success": "boolean", "message?": "string", "error?": "string",
			"resolution?": props(map[string]any{
				"status": "string", "decision?": "string", "decided_by?": "string", "decided_at?": "string"})}),
		"HistoryPage": props(map[string]any{"sessions": list(ref("Session")), "total": "integer"}),
		"MessagePage": props(map[string]any{"session_id": "string", "messages": list(ref("Message")), "total": "integer",
			"limit": "integer", "offset": "integer", "has_more": "boolean", "query_time_ms": "number"}),
		"Message": props(map[string]any{"id": "integer", "session_id": "string", "type": "string", "uuid": "string",
			"turn_id": "string", "timestamp?": "string", "message": props(map[string]any{"type": "string", "role": "string",
				"content": list(props(map[string]any{"type": words("text", "thinking", "tool_use", "tool_result")}))})}),
		"ElementPage": props(map[string]any{"session_id": "string", "elements": list(props(map[string]any{"id": "string",
			"type":      words("user_input", "assistant_text", "thinking", "tool_call", "tool_result"),
			"timestamp": "string", "content": "object"})),
			"pagination": props(map[string]any{"total": "integer", "returned": "integer", "has_more_before": "boolean",
				"has_more_after": "boolean", "oldest_id?": "string", "newest_id?": "string"})}),
		"WatchResult": props(map[string]any{"status": words("watching", "unwatched"), "watching": "boolean",
			"workspace_id": "string", "session_id": "string"}),
		"Verdict": props(map[string]any{"verdict": words("resumed", "gap", "ahead"), "from": "integer", "to": "integer",
			"oldest": schema{"type": []string{"integer", "null"}}}),
		"Workspace": props(map[string]any{"id": "string", "workspace_id": "string", "name": "string", "path": "string",
			"auto_start": "boolean", "created_at": "string", "sessions": list(ref("Session")), "active_session_count": "integer",
			"has_active_session": "boolean", "active_session_id": "string"}),
	}
}
