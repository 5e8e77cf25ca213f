package clients

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// TestRuntimeCalls: R8 to R12, R14, R18, R20 to R22 on one server of each engine.
func TestRuntimeCalls(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			server := rpcServer(t, engine, "HARNESS_RUNTIMES=scripted,codex,claude,gemini",
				"HARNESS_RUNTIME_STATUS=scripted=deprecated,gemini=disabled", "CODEX_BIN=/bin/false")
			server.AwaitRuntime()
			socket := dialRPC(server, t, "/rpc", nil)
			socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"runtimes": programtest.Object{}, "cursor": true}})
			space := socket.workspaceFor(server.Workspace)
			t.Run("R8 R12 the default runtime, deprecated", func(t *testing.T) {
				started := socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new", "strange": true})
				if programtest.Text(started, "agent_type") != "scripted" || programtest.Text(started, "status") != "started" ||
					programtest.Text(started, "id") != programtest.Text(started, "session_id") {
					t.Errorf("%v", started)
				}
			})
			t.Run("R9 an unknown runtime", func(t *testing.T) {
				for _, method := range []string{"session/start", "session/send", "session/stop", "session/input", "session/respond",
					"workspace/session/history"} {
					failed := socket.refused(-32602, method, allParams(space, "nope", " WHO "))
					if fmt.Sprint(failed.Data) != fmt.Sprint(programtest.Object{"agent_type": "who", "method": method,
						"supported_agent_types": []any{"claude", "codex", "gemini", "scripted"}}) {
						t.Errorf("%s: %v", method, failed.Data)
					}
				}
			})
			t.Run("R19 malformed input", func(t *testing.T) { checkMalformed(t, server) })
			t.Run("R11 a disabled runtime", func(t *testing.T) { checkDisabled(t, server, socket, space) })
			t.Run("R14 R20 R21 R22 a turn", func(t *testing.T) { checkFollowing(t, server, socket, space) })
			t.Run("RR-22 RR-25 RR-26 RR-29 answers, pages and lists", func(t *testing.T) { checkAnswers(t, server, socket, space) })
			t.Run("R10 a runtime that is down", func(t *testing.T) { checkAway(t, server, socket, space) })
		})
	}
}

// TestJSONRPCIsGuarded: without a token there is no socket and no response. The token is in the header or, as
// browsers require, among the subprotocols, never in the address. A foreign page, and a caller that uses another
// server name, are refused as on the stream.
func TestJSONRPCIsGuarded(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-very-test"
	server := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+token)).Start()
	upgrade := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
	with := func(more ...string) map[string]string {
		all := maps.Clone(upgrade)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	bearer := []string{"Authorization", "Bearer " + token}
	for path, cases := range map[string]map[int]map[string]string{
		"/rpc": {http.StatusUnauthorized: with(),
			http.StatusForbidden: with(append(bearer, "Origin", "https://evil.example")...)},
		"/rpc?access_token=" + token: {http.StatusUnauthorized: with(),
			http.StatusForbidden: with(append(bearer, "Host", "rebound.example")...)},
		"/rpc#": {http.StatusUnauthorized: with("Sec-WebSocket-Protocol", "jsonrpc, bearer.wrong"),
			http.StatusUpgradeRequired: {"Authorization": "Bearer " + token}},
		"/ws": {http.StatusUnauthorized: with(),
			http.StatusForbidden: with(append(bearer, "Origin", "https://evil.example")...)},
	} {
		for want, headers := range cases {
			if status, body := server.Ask(http.MethodGet, strings.TrimSuffix(path, "#"), headers); status != want {
				t.Errorf("%s with %v is answered %d %s, want %d", path, headers, status, body, want)
			}
		}
	}
	if status, body := post(server, `{"jsonrpc":"2.0","id":1,"method":"status/health"}`,
		nil); status != http.StatusUnauthorized {
		t.Errorf("a POST without a token is answered %d %s", status, body)
	}
	for _, header := range []http.Header{{"Authorization": {"Bearer " + token}},
		{"Sec-Websocket-Protocol": {"jsonrpc, bearer." + token}}} {
		if health := dialRPC(server, t, "/rpc", header).call("status/health", nil); programtest.Text(health, "status") != "ok" {
			t.Errorf("%v", health)
		}
	}
}

// allParams has all params that any method of a runtime may need.
func allParams(space, session, agent string) programtest.Object {
	return programtest.Object{"workspace_id": space, "session_id": session, "prompt": "x", "type": "permission", "response": "yes",
		"input": "x", "agent_type": agent, "mode": nil}
}

func checkDisabled(t *testing.T, server *programtest.Server, socket *rpcSocket, space string) {
	before := len(server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any))
	for agent, reason := range map[string]string{"gemini": "operator", "claude": "not installed"} {
		for _, method := range []string{"session/start", "session/send", "session/stop", "session/input", "session/respond",
			"workspace/session/history",
			"workspace/session/messages", "workspace/session/watch", "workspace/session/unwatch"} {
			failed := socket.refused(-32603, method, allParams(space, "nope", agent))
			if d := failed.Data; programtest.Text(d, "code") != "runtime_disabled" || programtest.Text(d, "agent_type") != agent ||
				programtest.Text(d, "method") != method ||
				programtest.Text(d, "status") != "disabled" || !strings.Contains(programtest.Text(d, "reason"), reason) || programtest.Text(d, "retryable") != "false" {
				t.Errorf("%s of %s: %v", method, agent, d)
			}
		}
	}
	refused := server.Want(http.StatusConflict, http.MethodPost, "/api/sessions", programtest.Object{"runtime": "gemini"})
	if programtest.Text(refused, "code") != "runtime_disabled" {
		t.Errorf("REST: %v", refused)
	}
	if after := len(server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any)); after != before {
		t.Errorf("%d sessions became %d", before, after)
	}
}

func checkCodes(t *testing.T, socket *rpcSocket, space string) {
	if failed := socket.refused(-32601, "git/status", nil); programtest.Text(failed.Data, "method") != "git/status" {
		t.Errorf("%v", failed)
	}
	for _, one := range []struct {
		method string
		params programtest.Object
		field  string
	}{
		{"session/start", programtest.Object{}, "workspace_id"},
		{"session/start", programtest.Object{"workspace_id": 7}, "workspace_id"},
		{"session/start", programtest.Object{"workspace_id": space, "permission_mode": "bogus"}, "permission_mode"},
		{"session/start", programtest.Object{"workspace_id": space, "yolo_mode": true}, "yolo_mode"},
		{"session/start", programtest.Object{"workspace_id": space, "permission_mode": "bypassPermissions"}, "permission_mode"},
		{"session/send", programtest.Object{}, "prompt"},
		{"session/send", programtest.Object{"prompt": "x"}, "session_id"},
		{"session/stop", programtest.Object{}, "session_id"},
		{"session/respond", programtest.Object{"session_id": "s", "response": "x", "type": "weird"}, "type"},
		{"workspace/session/messages", programtest.Object{"workspace_id": space}, "session_id"},
		{"permission/respond", programtest.Object{"tool_use_id": "x", "decision": "maybe"}, "decision"},
	} {
		if failed := socket.refused(-32602, one.method, one.params); programtest.Text(failed.Data, "field") != one.field {
			t.Errorf("%s %v: %v", one.method, one.params, failed)
		}
	}
	socket.refused(-32602, "session/start", []any{1, 2})
	for _, method := range []string{"session/state", "session/info", "session/get", "session/stop", "session/send",
		"workspace/session/watch"} {
		if failed := socket.refused(-32010, method, programtest.Object{"workspace_id": space, "session_id": "nope", "prompt": "x"}); programtest.Text(
			failed.Data, "session_id") != "nope" {
			t.Errorf("%s: %v", method, failed)
		}
	}
	if failed := socket.refused(-32603, "session/start", programtest.Object{"workspace_id": "nope"}); programtest.Text(failed.Data,
		"code") != "workspace_not_found" {
		t.Errorf("%v", failed)
	}
	if failed := socket.refused(-32603, "permission/respond", programtest.Object{"tool_use_id": "nope", "decision": "allow"}); programtest.Text(
		failed.Data, "code") != "no_pending_request" {
		t.Errorf("%v", failed)
	}
	session := programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new"}), "session_id")
	for _, method := range []string{"session/send", "session/input", "session/respond", "session/stop"} {
		if failed := socket.refused(-32602, method, allParams(space, session, "codex")); programtest.Text(failed.Data, "field") != "agent_type" {
			t.Errorf("%s to a session of another runtime: %v", method, failed)
		}
	}
	if found := socket.call("session/start", programtest.Object{"workspace_id": space, "session_id": "nope"}); programtest.Text(found,
		"status") != "not_found" || programtest.Text(found, "session_id") != "" {
		t.Errorf("%v", found)
	}
}

// checkFollowing: only the watching socket sees a turn with a permission and a question. A slow call does not delay a
// fast one. Missed events are repeated after a position.
func checkFollowing(t *testing.T, server *programtest.Server, socket *rpcSocket, space string) {
	other := dialRPC(server, t, "/ws", nil)
	other.call("initialize", programtest.Object{})
	session := programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new"}), "session_id")
	socket.call("workspace/session/watch", programtest.Object{"workspace_id": space, "session_id": session, "agent_type": "scripted"})
	file := filepath.Join(server.Workspace, "made")
	sent := socket.call("session/send", programtest.Object{"session_id": session, "prompt": "RUN[touch " + file + "]",
		"mode": "continue", "permission_mode": "interactive"})
	if programtest.Text(sent, "status") != "sent" || programtest.Text(sent, "turn_id") == "" || programtest.Text(sent, "agent_type") != "scripted" {
		t.Errorf("%v", sent)
	}
	asked := socket.waitFor("event/pty_permission", nil)
	if programtest.Text(asked, "type") != "bash_command" || !strings.Contains(programtest.Text(asked, "target"), "touch") ||
		len(asked["options"].([]any)) != 3 {
		t.Errorf("%v", asked)
	}
	requireContext(t, asked, space, session)
	state := socket.call("session/state", programtest.Object{"session_id": session})
	if programtest.Text(state, "pending_tool_use_id") != programtest.Text(asked, "tool_use_id") || programtest.Text(state, "waiting_for_input") != "true" ||
		programtest.Text(state, "runtime_state") != "waiting" ||
		programtest.Text(state, "is_running") != "true" || programtest.Text(state, "status") != "running" {
		t.Errorf("%v", state)
	}
	waiting := socket.call("permission/pending", programtest.Object{})
	if programtest.Text(waiting, "count") != "1" || programtest.Text(waiting["requests"].([]any)[0], "tool_use_id") != programtest.Text(asked, "tool_use_id") {
		t.Errorf("%v", waiting)
	}
	if decided := socket.call("permission/respond", programtest.Object{"tool_use_id": programtest.Text(asked, "tool_use_id"), "decision": "allow",
		"scope": "once"}); programtest.Text(decided, "success") != "true" {
		t.Errorf("%v", decided)
	}
	late := socket.call("permission/respond", programtest.Object{"tool_use_id": programtest.Text(asked, "tool_use_id"), "decision": "deny"})
	if programtest.Text(late, "success") != "false" || programtest.Text(late, "resolution", "decision") != "allow" ||
		programtest.Text(late, "resolution", "decided_by") == "" {
		t.Errorf("%v", late)
	}
	socket.waitFor("event/pty_permission_resolved", func(p programtest.Object) bool { return programtest.Text(p, "decision") == "allow" })
	socket.waitFor("event/claude_message", func(p programtest.Object) bool {
		return strings.Contains(fmt.Sprint(p["content"]), "it ran")
	})
	idle := socket.waitFor("event/claude_status", func(p programtest.Object) bool { return programtest.Text(p, "state") == "idle" })
	requireContext(t, idle, space, session)
	complete := socket.waitFor("event/stream_read_complete", nil)
	page := socket.call("workspace/session/messages", programtest.Object{"workspace_id": space, "session_id": session, "limit": 2,
		"order": "desc"})
	if programtest.Text(page, "has_more") != "true" || len(page["messages"].([]any)) != 2 ||
		!strings.Contains(fmt.Sprint(page["messages"].([]any)[0]), "it ran") {
		t.Errorf("%v", page)
	}
	// One turn has run. Every count must match what it left.
	left := programtest.Text(page, "total")
	history := socket.call("workspace/session/history", programtest.Object{"workspace_id": space, "agent_type": "scripted"})
	if programtest.Text(complete, "messages_emitted") != left || !slices.ContainsFunc(history["sessions"].([]any), func(one any) bool {
		return programtest.Text(one, "session_id") == session && programtest.Text(one, "message_count") == left
	}) {
		t.Errorf("%s messages: %v, %v", left, complete, history)
	}
	checkElements(t, socket, session, left)
	slowThenFast(t, socket, session)
	socket.call("session/send", programtest.Object{"session_id": session, "prompt": "ASK"})
	question := socket.waitFor("event/claude_waiting", nil)
	if !strings.Contains(fmt.Sprint(question["input"]), "Which one?") {
		t.Errorf("%v", question)
	}
	socket.call("session/respond", programtest.Object{"session_id": session, "type": "question", "response": "the red one"})
	socket.waitFor("event/claude_message", func(p programtest.Object) bool {
		return strings.Contains(fmt.Sprint(p["content"]), "the red one")
	})
	if failed := socket.refused(-32603, "session/respond",
		programtest.Object{"session_id": session, "type": "question", "response": "again"}); programtest.Text(failed.Data,
		"code") != "no_pending_request" {
		t.Errorf("%v", failed)
	}
	// The other socket has all its notifications now, because a response follows them.
	other.call("status/health", nil)
	for _, one := range other.notifications("") {
		if programtest.Text(one.Params, "session_id") == session {
			t.Errorf("a socket that does not watch gets %s", one.raw)
		}
	}
	resumesAfter(t, server, socket, space, session, idle)
}

// checkMalformed: the server answers malformed messages, executes none of them, and keeps the socket open.
// TestMalformedMessages in harness/api/rpc/wire covers all of them.
func checkMalformed(t *testing.T, server *programtest.Server) {
	t.Helper()
	socket := dialRPC(server, t, "/rpc", nil)
	for said, want := range map[string]string{
		`not json`: `"id":null,"error":{"code":-32700`,
		`[]`:       `"id":null,"error":{"code":-32600`,
		`[1,{"jsonrpc":"2.0","id":6,"method":"status/health"}]`:            `},{"jsonrpc":"2.0","id":6,"result"`,
		`{"jsonrpc":"2.0","id":{},"method":"status/health"}`:               `"id":null,"error":{"code":-32600`,
		`{"id":8,"method":"status/health"}`:                                `"id":8,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":5}`:               `"id":9007199254740993,"error":{"code":-32600`,
		`{"jsonrpc":"2.0","id":7.9,"method":"status/health"}`:              `"id":7.9,"result"`,
		`{"jsonrpc":"2.0","id":4,"method":"session/send","params":"text"}`: `"id":4,"error":{"code":-32602`,
	} {
		if status, body := post(server, said, nil); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s is answered %d %s by POST", said, status, body)
		}
		socket.send(said)
	}
	if health := socket.call("status/health", nil); programtest.Text(health, "status") != "ok" {
		t.Errorf("%v", health)
	}
}

// checkElements: reading backward from the newest one returns every element once. A tool call and its result are two.
func checkElements(t *testing.T, socket *rpcSocket, session, total string) {
	t.Helper()
	var kinds []string
	seen := map[string]bool{}
	for before := any(nil); ; {
		page := socket.call("session/elements", programtest.Object{"session_id": session, "limit": 2, "before": before})
		place, elements := page["pagination"].(programtest.Object), page["elements"].([]any)
		for i := len(elements) - 1; i >= 0; i-- {
			id := programtest.Text(elements[i], "id")
			if seen[id] {
				t.Fatalf("%s comes again", id)
			}
			seen[id], kinds = true, append(kinds, programtest.Text(elements[i], "type"))
		}
		if len(elements) > 2 || programtest.Text(place, "returned") != fmt.Sprint(len(elements)) || programtest.Text(place, "total") != total ||
			programtest.Text(place, "has_more_after") != fmt.Sprint(before != nil) {
			t.Errorf("%v", page)
		}
		if before = place["oldest_id"]; programtest.Text(place, "has_more_before") != "true" {
			break
		}
	}
	slices.Reverse(kinds)
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "user_input tool_call tool_result ") ||
		!strings.HasSuffix(got, " assistant_text") {
		t.Errorf("its elements are %s", got)
	}
	socket.refused(-32602, "session/elements", programtest.Object{"session_id": session, "before": "0:unknown"})
}

// requireContext checks for the members without which cdev's clients drop a notification.
func requireContext(t *testing.T, params programtest.Object, space, session string) {
	t.Helper()
	if programtest.Text(params, "workspace_id") != space || programtest.Text(params, "session_id") != session ||
		programtest.Text(params, "agent_type") != "scripted" || programtest.Text(params, "timestamp") == "" ||
		params["pos"] == nil || params["seq"] == nil {
		t.Errorf("its context is %v", params)
	}
}

// slowThenFast: a message to a session whose agent cannot be steered is queued at once. It is sent after the running
// turn was stopped and the stop was published.
func slowThenFast(t *testing.T, socket *rpcSocket, session string) {
	socket.call("session/send", programtest.Object{"session_id": session, "prompt": "HOLD[slow" + session + "]"})
	queued := socket.call("session/send", programtest.Object{"session_id": session, "prompt": "REPLY[late]"})
	if programtest.Text(queued, "status") != "queued" || programtest.Text(queued, "queue_position") != "1" ||
		programtest.Text(queued, "message_id") == "" || programtest.Text(queued, "turn_id") != "" {
		t.Errorf("a message to a busy session is answered with %v", queued)
	}
	stopped := socket.call("session/stop", programtest.Object{"session_id": session})
	if programtest.Text(stopped, "status") != "stopped" {
		t.Errorf("%v", stopped)
	}
	socket.waitFor("event/session_stopped", nil)
	socket.waitFor("event/claude_message", func(p programtest.Object) bool {
		return strings.Contains(fmt.Sprint(p["content"]), "late")
	})
}

// resumesAfter: with a position, a new socket gets the verdict first and then the later events, the same as live.
func resumesAfter(t *testing.T, server *programtest.Server, socket *rpcSocket, space, session string, after programtest.Object) {
	again := dialRPC(server, t, "/rpc", nil)
	again.call("initialize", programtest.Object{"capabilities": programtest.Object{"cursor": true}})
	again.call("workspace/session/watch", programtest.Object{"workspace_id": space, "session_id": session})
	from := int64(after["pos"].(float64))
	verdict := again.call("events/resume", programtest.Object{"after": from})
	if programtest.Text(verdict, "verdict") != "resumed" {
		t.Errorf("%v", verdict)
	}
	last := socket.notifications("event/claude_message")
	again.waitFor("event/claude_message", func(p programtest.Object) bool {
		return fmt.Sprint(p["pos"]) == fmt.Sprint(last[len(last)-1].Params["pos"])
	})
	missed := map[string]string{}
	for _, one := range socket.notifications("") {
		if pos, has := one.Params["pos"].(float64); has && int64(pos) > from && programtest.Text(one.Params, "session_id") == session {
			missed[fmt.Sprint(pos)] = one.raw
		}
	}
	for _, one := range again.notifications("") {
		if pos, has := one.Params["pos"].(float64); has {
			if int64(pos) <= from || missed[fmt.Sprint(pos)] != one.raw && programtest.Text(one.Params, "session_id") == session {
				t.Errorf("repeated %s\nwas %s", one.raw, missed[fmt.Sprint(pos)])
			}
		}
	}
	if ahead := again.call("events/resume", programtest.Object{"after": int64(1) << 40}); programtest.Text(ahead, "verdict") != "ahead" {
		t.Errorf("%v", ahead)
	}
}

// checkAway: codex is installed but does not start. A client that identifies as cdev's old one gets cdev's texts.
func checkAway(t *testing.T, server *programtest.Server, socket *rpcSocket, space string) {
	down := func() bool {
		return strings.Contains(fmt.Sprint(server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/codex", nil)), "state:unavailable")
	}
	for _, method := range []string{"session/start", "session/send", "session/stop", "session/input", "session/respond"} {
		server.Eventually("codex is down", down) // the server tries to start it now and then
		failed := socket.refused(-32603, method, allParams(space, "any", "codex"))
		if d := failed.Data; programtest.Text(d, "code") != "runtime_unavailable" || programtest.Text(d, "agent_type") != "codex" ||
			programtest.Text(d, "method") != method ||
			programtest.Text(d, "status") != "active" || programtest.Text(d, "reason") == "" || programtest.Text(d, "retryable") != "true" {
			t.Errorf("%s: %v", method, d)
		}
	}
	old := dialRPC(server, t, "/ws", nil)
	old.call("initialize", programtest.Object{"client_info": programtest.Object{"name": "cdev-ios", "version": "1.0.0"}})
	failed := old.refused(-32004, "session/start", allParams(space, "", "codex"))
	if fmt.Sprint(failed.Data) != fmt.Sprint(programtest.Object{"agent_type": "codex", "method": "session/start"}) {
		t.Errorf("%v", failed)
	}
}
