package agents

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// tool returns a client's tool in the format of a request.
func tool(name, description string) programtest.Object {
	return programtest.Object{"name": name, "description": description,
		"inputSchema": programtest.Object{"type": "object", "properties": programtest.Object{"id": programtest.Object{"type": "string"}}}}
}

// A session has the tools from its creation, because codex accepts them at no other time. A message or a resumption
// with other tools is refused with a remedy, and has no effect. One that names the session's tools is accepted, also
// after a restart.
func TestToolsAreTakenOrRefused(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		plain, equipped := server.CreateSession(nil), server.CreateSession(
			programtest.Object{"dynamicTools": []programtest.Object{tool("lookup", "d"), tool("other", "d")}})
		refused := func(session, words string, tools ...programtest.Object) {
			t.Helper()
			if tools == nil {
				tools = []programtest.Object{}
			}
			path := "/api/sessions/" + session
			for act, body := range map[string]programtest.Object{"/messages": {"text": "go", "dynamicTools": tools},
				"/resume": {"dynamicTools": tools}} {
				answer := server.Want(http.StatusBadRequest, http.MethodPost, path+act, body)
				issue := answer["issues"].([]any)[0]
				if said := programtest.Text(issue, "message"); programtest.Text(issue, "path") != "[dynamicTools]" || !strings.Contains(said, words) ||
					!strings.Contains(said, "create a session with") {
					t.Errorf("%s with tools answered %v, want the words %q", act, issue, words)
				}
			}
		}
		called := func(session string, tools ...programtest.Object) {
			t.Helper()
			events := server.Follow("threadId=" + session)
			defer events.Close()
			path := "/api/sessions/" + session
			turn := programtest.Text(server.Want(http.StatusAccepted, http.MethodPost, path+"/messages",
				programtest.Object{"text": `MOCK_CALL[lookup|{"id":"T"}]END`, "dynamicTools": tools}), "turnId")
			asked := events.WaitType("tool_call_requested")
			server.Want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+programtest.Text(asked.Decoded(), "requestId")+"/response",
				programtest.Object{"text": "found"})
			if status := events.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			server.Want(http.StatusOK, http.MethodPost, path+"/resume", programtest.Object{"dynamicTools": tools})
		}
		refused(plain, "has no tools", tool("lookup", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"), tool("other", "another"))
		refused(equipped, "(lookup, other)")
		for _, session := range []string{plain, equipped} {
			if entries := server.Transcript(session); len(entries) != 0 {
				t.Errorf("a refused message left %v", entries)
			}
		}
		events := server.Follow("threadId=" + plain)
		events.WaitTurn(programtest.Text(server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+plain+"/messages",
			programtest.Object{"text": "go", "dynamicTools": []programtest.Object{}}), "turnId"))
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+plain+"/resume", programtest.Object{"dynamicTools": []programtest.Object{}})
		called(equipped, tool("other", "d"), tool("lookup", "d"))

		// A fork has its source's tools, even under another name.
		fork := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+equipped+"/fork", nil), "session",
			"sessionId")
		called(fork, tool("lookup", "d"), tool("other", "d"))
		server.Stop()
		server = s.Start()
		called(equipped, tool("lookup", "d"), tool("other", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"))
		server.Stop()
	})
}
