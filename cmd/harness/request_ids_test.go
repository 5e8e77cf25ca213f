package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// signalled waits for the signal of a request and returns its id of ours, after the runtime's own is found beside it.
func (f *follower) signalled(method string) string {
	f.t.Helper()
	signal := f.waitType("app_server.request." + method).payload()
	id, isText := signal["requestId"].(string)
	if !isText || len(id) != len("01a1fbb7-da59-71f1-8746-2ce1c0248883") {
		f.t.Fatalf("the signal names its request %v", signal["requestId"])
	}
	if _, isNumber := signal["nativeRequestId"].(float64); !isNumber {
		f.t.Errorf("the runtime's own id is %v", signal["nativeRequestId"])
	}
	return id
}

// A remote skill answers by what the signal of a request tells it, and is told of the end under the same id. On both
// engines and the oldest codex, which does not tell of the end.
func TestASignalIsAnsweredByItsID(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(
			object{"approvalPolicy": "untrusted", "dynamicTools": []object{{"name": "lookup_ticket", "description": "Look up",
				"inputSchema": object{"type": "object", "properties": object{"id": object{"type": "string"}}}}}})
		events := server.follow("threadId=" + session)

		turn := server.send(session, `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`)
		id := events.signalled("item.tool.call")
		server.want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+id+"/response", object{"text": "ticket T-1 is open"})
		if status := events.waitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		if said := fmt.Sprint(s.model.Outputs()); !strings.Contains(said, "ticket T-1 is open") {
			t.Errorf("the model was told %s", said)
		}

		turn = server.send(session, "MOCK_CMD[touch by-signal.txt]")
		id = events.signalled("item.command_execution.request_approval")
		server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", object{"decision": "accept"})
		if status := events.waitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		for _, f := range events.all() {
			if f.Type == "app_server.server_request.resolved" && text(f.payload(), "requestId") != id {
				t.Errorf("the end of request %s is told as %s", id, f.raw)
			}
		}
	})
}

// An extension decides by what the signal of an approval tells it.
func TestAnExtensionDecidesByTheSignalsID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const signal = "app_server.request.item.command_execution.request_approval"
	s.extension("signals", map[string]string{
		"extension.manifest.json": `{"name":"@t/signals","version":"1.0.0","agentId":"signals","displayName":"Signals",` +
			`"runtime":{"coreApiVersion":1,"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},"entrypoints":{"events":"./events.mjs"},` +
			`"capabilities":{"events":["` + signal + `"],"actions":["approval.decide"]}}`,
		"events.mjs": `export function registerAgentEvents(registry) {
  registry.on("` + signal + `", (event) => ({
    kind: "action_request", actionType: "approval.decide", payload: { approvalId: event.payload.requestId, decision: "decline" },
  }));
}`,
	})
	server := s.start()
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_CMD[touch never.txt]")
	if resolved := events.waitType("approval_resolved").payload(); text(resolved, "decision") != "decline" {
		t.Errorf("it was decided %v", resolved)
	}
	if status := events.waitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
}
