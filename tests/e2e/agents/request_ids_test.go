package agents

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// signalled waits for the signal of a request and returns the server's id of it. It also checks that the signal
// contains the runtime's id.
func signalled(f *programtest.Follower, method string) string {
	f.T.Helper()
	signal := f.WaitType("app_server.request." + method).Decoded()
	id, isText := signal["requestId"].(string)
	if !isText || len(id) != len("01a1fbb7-da59-71f1-8746-2ce1c0248883") {
		f.T.Fatalf("the signal names its request %v", signal["requestId"])
	}
	if _, isNumber := signal["nativeRequestId"].(float64); !isNumber {
		f.T.Errorf("the runtime's own id is %v", signal["nativeRequestId"])
	}
	return id
}

// A remote skill answers with the id in a request's signal, and gets the end under the same id. The test covers both
// engines and the oldest codex, which does not report the end.
func TestASignalIsAnsweredByItsID(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(
			programtest.Object{"approvalPolicy": "untrusted", "dynamicTools": []programtest.Object{{"name": "lookup_ticket", "description": "Look up",
				"inputSchema": programtest.Object{"type": "object", "properties": programtest.Object{"id": programtest.Object{"type": "string"}}}}}})
		events := server.Follow("threadId=" + session)

		turn := server.Send(session, `MOCK_CALL[lookup_ticket|{"id":"T-1"}]END`)
		id := signalled(events, "item.tool.call")
		server.Want(http.StatusOK, http.MethodPost, "/api/tool-calls/"+id+"/response", programtest.Object{"text": "ticket T-1 is open"})
		if status := events.WaitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		if said := fmt.Sprint(s.Model.Outputs()); !strings.Contains(said, "ticket T-1 is open") {
			t.Errorf("the model got %s", said)
		}

		turn = server.Send(session, "MOCK_CMD[touch by-signal.txt]")
		id = signalled(events, "item.command_execution.request_approval")
		server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+id+"/decision", programtest.Object{"decision": "accept"})
		if status := events.WaitTurn(turn); status != "completed" {
			t.Fatalf("the turn ended %s", status)
		}
		for _, f := range events.All() {
			if f.Type == "app_server.server_request.resolved" && programtest.Text(f.Decoded(), "requestId") != id {
				t.Errorf("the end of request %s is reported as %s", id, f.Raw)
			}
		}
	})
}

// An extension decides with the id in the signal of an approval.
func TestAnExtensionDecidesByTheSignalsID(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	const signal = "app_server.request.item.command_execution.request_approval"
	s.Extension("signals", map[string]string{
		"extension.manifest.json": `{"name":"@t/signals","version":"1.0.0","agentId":"signals","displayName":"Signals",` +
			`"runtime":{"coreApiVersion":1,"profiles":[{"name":"codex-manager","versionRange":">=1 <2"}]},"entrypoints":{"events":"./events.mjs"},` +
			`"capabilities":{"events":["` + signal + `"],"actions":["approval.decide"]}}`,
		"events.mjs": `export function registerAgentEvents(registry) {
  registry.on("` + signal + `", (event) => ({
    kind: "action_request", actionType: "approval.decide", payload: { approvalId: event.payload.requestId, decision: "decline" },
  }));
}`,
	})
	server := s.Start()
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_CMD[touch never.txt]")
	if resolved := events.WaitType("approval_resolved").Decoded(); programtest.Text(resolved, "decision") != "decline" {
		t.Errorf("it was decided %v", resolved)
	}
	if status := events.WaitTurn(turn); status != "completed" {
		t.Errorf("the turn ended %s", status)
	}
}
