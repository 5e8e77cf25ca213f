package main

import (
	"net/http"
	"strings"
	"testing"
)

// tool is a client's tool as a request has it.
func tool(name, description string) object {
	return object{"name": name, "description": description,
		"inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}}}
}

// A session has the tools it was made with, which codex takes at no other time. A message or a resumption that asks for
// others is refused and says what to do, and nothing of it happens; one that names those it has is taken, after a
// restart, too.
func TestToolsAreTakenOrRefused(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		plain, equipped := server.createSession(nil), server.createSession(
			object{"dynamicTools": []object{tool("lookup", "d"), tool("other", "d")}})
		refused := func(session, words string, tools ...object) {
			t.Helper()
			if tools == nil {
				tools = []object{}
			}
			path := "/api/sessions/" + session
			for act, body := range map[string]object{"/messages": {"text": "go", "dynamicTools": tools},
				"/resume": {"dynamicTools": tools}} {
				answer := server.want(http.StatusBadRequest, http.MethodPost, path+act, body)
				issue := answer["issues"].([]any)[0]
				if said := text(issue, "message"); text(issue, "path") != "[dynamicTools]" || !strings.Contains(said, words) ||
					!strings.Contains(said, "create a session with") {
					t.Errorf("%s with tools answered %v, want the words %q", act, issue, words)
				}
			}
		}
		called := func(session string, tools ...object) {
			t.Helper()
			events := server.follow("threadId=" + session)
			defer events.close()
			path := "/api/sessions/" + session
			turn := text(server.want(http.StatusAccepted, http.MethodPost, path+"/messages",
				object{"text": `MOCK_CALL[lookup|{"id":"T"}]END`, "dynamicTools": tools}), "turnId")
			asked := events.waitType("tool_call_requested")
			server.want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+text(asked.payload(), "requestId")+"/response",
				object{"text": "found"})
			if status := events.waitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			server.want(http.StatusOK, http.MethodPost, path+"/resume", object{"dynamicTools": tools})
		}
		refused(plain, "has no tools", tool("lookup", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"), tool("other", "another"))
		refused(equipped, "(lookup, other)")
		for _, session := range []string{plain, equipped} {
			if entries := server.transcript(session); len(entries) != 0 {
				t.Errorf("a refused message left %v", entries)
			}
		}
		events := server.follow("threadId=" + plain)
		events.waitTurn(text(server.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+plain+"/messages",
			object{"text": "go", "dynamicTools": []object{}}), "turnId"))
		server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+plain+"/resume", object{"dynamicTools": []object{}})
		called(equipped, tool("other", "d"), tool("lookup", "d"))

		// A fork has its source's tools, however it is called here.
		fork := text(server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+equipped+"/fork", nil), "session",
			"sessionId")
		called(fork, tool("lookup", "d"), tool("other", "d"))
		server.stop()
		server = s.start()
		called(equipped, tool("lookup", "d"), tool("other", "d"))
		refused(equipped, "(lookup, other)", tool("lookup", "d"))
		server.stop()
	})
}
