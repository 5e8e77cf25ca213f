package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A turn over /rpc, with the real codex and the real Claude Code: start, watch, send, a permission, and a kill of the
// server. The next server has the correct state and the pending request, the answer reaches the agent, and missed
// events are repeated. Then the session's mode accepts edits, and the session is stopped and resumed.
func TestAgentsOverJSONRPC(t *testing.T) {
	t.Parallel()
	engines := dbtest.Engines()
	for n, agent := range []string{"codex", "claude"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			s := programtest.WithClaude(t, programtest.WithEngine(engines[n%len(engines)]))
			s.Env = append(s.Env, "DEFAULT_APPROVAL_POLICY=untrusted", "DEFAULT_NETWORK_ACCESS=enabled")
			server := s.Start()
			server.AwaitRuntime()
			socket := dialRPC(server, t, "/rpc", nil)
			registry := jsonAs[registryReply](t,
				socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"cursor": true}})["capabilities"].(programtest.Object)["runtimeRegistry"])
			methods := registry.Runtimes[n].Methods
			space := socket.workspaceFor(s.Workspace)
			session := socket.startNew(space, agent)
			socket.call(methods["watch"], programtest.Object{"workspace_id": space, "session_id": session, "agent_type": agent})
			file := filepath.Join(s.Workspace, "made-by-"+agent)
			socket.call(methods["send"], programtest.Object{"session_id": session, "prompt": "MOCK_CMD[touch " + file + "]",
				"agent_type": agent})
			asked := socket.waitFor("event/pty_permission", nil)
			if programtest.Text(asked, "agent_type") != agent || !strings.Contains(fmt.Sprint(asked), file) {
				t.Errorf("%v", asked)
			}
			server.Kill()

			server = s.Start()
			socket = dialRPC(server, t, "/rpc", nil)
			socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"cursor": true}})
			state := socket.call(methods["state"], programtest.Object{"session_id": session})
			if programtest.Text(state, "pending_tool_use_id") != programtest.Text(asked, "tool_use_id") || programtest.Text(state, "waiting_for_input") != "true" ||
				programtest.Text(state, "agent_type") != agent {
				t.Errorf("after the kill its state is %v", state)
			}
			waiting := socket.call("permission/pending", programtest.Object{"session_id": session})
			if programtest.Text(waiting, "count") != "1" {
				t.Errorf("after the kill %v waits", waiting)
			}
			socket.call(methods["watch"], programtest.Object{"workspace_id": space, "session_id": session, "agent_type": agent})
			socket.call("events/resume", programtest.Object{"after": int64(asked["pos"].(float64))})
			if _, err := os.Stat(file); err == nil {
				t.Error("it ran before it was allowed")
			}
			if done := socket.call("permission/respond",
				programtest.Object{"tool_use_id": programtest.Text(asked, "tool_use_id"), "decision": "allow"}); programtest.Text(done, "success") != "true" {
				t.Errorf("%v", done)
			}
			socket.waitFor("event/claude_status", func(p programtest.Object) bool { return programtest.Text(p, "state") == "idle" })
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			page := fmt.Sprint(
				socket.call(methods["messages"], programtest.Object{"workspace_id": space, "session_id": session, "agent_type": agent}))
			if !strings.Contains(page, "tool_use") || !strings.Contains(page, "touch") || !strings.Contains(page, "MOCK_CMD") {
				t.Errorf("its messages are %s", page)
			}
			history := socket.call(methods["history"], programtest.Object{"workspace_id": space, "agent_type": agent})
			if programtest.Text(history, "total") != "1" || programtest.Text(history["sessions"].([]any)[0], "session_id") != session {
				t.Errorf("%v", history)
			}
			acceptsEdits(t, socket, s, methods, session)
			server.Stop()
		})
	}
}

// acceptsEdits: in that mode the agent writes a file without an approval. A stopped session keeps its mode.
func acceptsEdits(t *testing.T, socket *rpcSocket, s *programtest.Site, methods map[string]string, session string) {
	t.Helper()
	agent := programtest.Text(socket.call(methods["state"], programtest.Object{"session_id": session}), "agent_type")
	for n, mode := range []string{"acceptEdits", "interactive"} {
		name := fmt.Sprintf("edited-%s-%d", agent, n)
		asked := len(socket.notifications("event/pty_permission"))
		decided := len(socket.notifications("event/pty_permission_resolved"))
		socket.call(methods["send"], programtest.Object{"session_id": session, "agent_type": agent, "permission_mode": mode,
			"prompt": "MOCK_PATCH[" + name + "]"})
		socket.waitFor("event/claude_status", func(p programtest.Object) bool { return programtest.Text(p, "state") == "idle" })
		if _, err := os.Stat(filepath.Join(s.Workspace, name)); err != nil {
			t.Error(err)
		}
		// If the agent asks, the mode answers.
		resolved := socket.notifications("event/pty_permission_resolved")[decided:]
		if news := len(socket.notifications("event/pty_permission")) - asked; news != len(resolved) {
			t.Errorf("%d questions, %d answers", news, len(resolved))
		}
		for _, one := range resolved {
			if programtest.Text(one.Params, "resolved_by") != "mode:acceptEdits" || programtest.Text(one.Params, "decision") != "allow" {
				t.Errorf("it was decided %s", one.raw)
			}
		}
		if agent == "claude" && len(resolved) == 0 {
			t.Error("Claude Code did not ask")
		}
		if stopped := socket.call(methods["stop"], programtest.Object{"session_id": session, "agent_type": agent}); programtest.Text(stopped,
			"status") != "stopped" {
			t.Errorf("%v", stopped)
		}
	}
}

// startNew starts a session and waits for its real id if the first one is temporary.
func (s *rpcSocket) startNew(space, agent string) string {
	s.t.Helper()
	id := programtest.Text(s.call("session/start", programtest.Object{"workspace_id": space, "mode": "new", "agent_type": agent,
		"yolo_mode": false}), "session_id")
	if !strings.HasPrefix(id, "temp-") {
		return id
	}
	resolved := s.waitFor("event/session_id_resolved", func(p programtest.Object) bool { return programtest.Text(p, "temporary_id") == id })
	if programtest.Text(resolved, "workspace_id") != space || programtest.Text(resolved, "agent_type") != agent ||
		programtest.Text(resolved, "session_id") != programtest.Text(resolved, "real_id") {
		s.t.Errorf("%v", resolved)
	}
	if state := s.call("session/state", programtest.Object{"session_id": id}); programtest.Text(state, "session_id") != programtest.Text(resolved, "real_id") {
		s.t.Errorf("the temporary id is of %v", state)
	}
	return programtest.Text(resolved, "real_id")
}

// A temporary id is either resolved or failed, exactly once: on success, when the runtime refuses, and when the
// server is killed in between.
func TestTemporaryIDsAreSettledOnce(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	able := s.Env
	// Without bubblewrap Claude Code cannot confine a session to its workspace.
	s.Env = append(slices.Clone(able), "DEFAULT_SANDBOX_MODE=workspace-write", "PATH="+t.TempDir())
	server := s.Start()
	socket := dialRPC(server, t, "/rpc", nil)
	socket.call("initialize", nil)
	space := socket.workspaceFor(s.Workspace)
	failed := programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new", "agent_type": "claude"}),
		"session_id")
	failure := socket.waitFor("event/session_id_failed", nil)
	if programtest.Text(failure, "temporary_id") != failed || programtest.Text(failure, "workspace_id") != space ||
		programtest.Text(failure, "agent_type") != "claude" || programtest.Text(failure, "reason") == "" || programtest.Text(failure, "message") == "" {
		t.Errorf("%v", failure)
	}
	socket.refused(-32010, "session/state", programtest.Object{"session_id": failed})
	server.Stop()

	s.Env = able
	server = s.Start()
	socket = dialRPC(server, t, "/rpc", nil)
	socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"cursor": true}})
	var begun []string
	for range 5 {
		begun = append(begun,
			programtest.Text(socket.call("session/start", programtest.Object{"workspace_id": space, "mode": "new", "agent_type": "claude"}),
				"session_id"))
	}
	server.Kill()
	server = s.Start()
	socket = dialRPC(server, t, "/rpc", nil)
	socket.call("initialize", programtest.Object{"capabilities": programtest.Object{"cursor": true}})
	socket.call("events/resume", programtest.Object{"after": 0})
	ended := map[string]int{}
	for range len(begun) + 1 {
		one := socket.waitFor("event/session_id_resolved", nil, "event/session_id_failed")
		ended[programtest.Text(one, "temporary_id")]++
	}
	for _, id := range append(begun, failed) {
		if ended[id] != 1 {
			t.Errorf("%s ended %d times", id, ended[id])
		}
	}
	socket.call("status/health", nil)
	if more := len(socket.notifications("event/session_id_resolved")) + len(
		socket.notifications("event/session_id_failed")); more != len(begun)+1 {
		t.Errorf("%d ends were sent for %d ids", more, len(begun)+1)
	}
}
