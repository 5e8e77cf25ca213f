package nodes

import (
	"net/http"
	"testing"

	"harness/internal/programtest"
)

// Calls of JSON-RPC are carried out by the owner of the session they name, asked at any node.
func TestCallsAreCarriedOutByTheOwner(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	events := n.b.Follow("threadId=" + session)
	call := func(method string, params programtest.Object) programtest.Object {
		t.Helper()
		params["session_id"] = session
		return n.b.Want(http.StatusOK, http.MethodPost, "/rpc", programtest.Object{"jsonrpc": "2.0", "id": 7, "method": method,
			"params": params})
	}
	if answer := call("session/send", programtest.Object{"prompt": "MOCK_REPLY[done]"}); answer["result"] == nil || programtest.Text(answer, "id") != "7" {
		t.Fatalf("a message is answered %v", answer)
	}
	completed := func(f programtest.Frame) bool {
		return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == "turn/completed"
	}
	events.Wait("the end of the turn", completed)

	call("session/send", programtest.Object{"prompt": "MOCK_HOLD[held]"})
	if err := n.siteA.Model.WaitHeld(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	if answer := call("session/stop", programtest.Object{}); answer["result"] == nil {
		t.Errorf("a stop is answered %v", answer)
	}
	n.siteA.Model.Release("held")
	if status := programtest.Text(events.Wait("the end of the turn", completed).Decoded(), "params", "turn", "status"); status != "interrupted" {
		t.Errorf("the stopped turn ended %s", status)
	}
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node was told %v", calls)
	}

	n.a.Kill()
	if answer := call("session/send", programtest.Object{"prompt": "hi"}); programtest.Text(answer, "error", "data", "code") != "owner_unreachable" {
		t.Errorf("with its owner killed it is %v", answer)
	}
}
