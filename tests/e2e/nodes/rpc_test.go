package nodes

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// MC-39: see stopsATree. MC-40: see agentsReachOtherNodes. MC-41: see queuesElsewhere.
// The owner of the named session executes JSON-RPC calls, whichever node gets them.
func TestCallsAreCarriedOutByTheOwner(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector(), programtest.WithEnv("HARNESS_CONTROL_AGENTS=write"))
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
	n.stopsATree(t)
	n.agentsReachOtherNodes(t)
	n.queuesElsewhere(t)
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node got %v", calls)
	}

	// A message just below the maximum length arrives complete, whatever its content.
	long := `{"jsonrpc":"2.0","id":8,"method":"session/send","params":{"session_id":"` + session + `","prompt":"MOCK_REPLY[long] ` +
		strings.Repeat("<&>", 300_000) + `"}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.b.URL+"/rpc", strings.NewReader(long))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil || !strings.Contains(string(said), `"result"`) {
		t.Errorf("a long message is answered %.300s, %v", said, err)
	}
	events.Wait("the end of the turn", completed)

	// The owner's agent must be available, not that of the node that gets the call.
	n.b.Stop()
	n.siteB.Env = append(n.siteB.Env, "CODEX_BIN=/nowhere/codex")
	n.b = n.siteB.Start()
	if answer := call("session/send", programtest.Object{"prompt": "MOCK_REPLY[done]"}); answer["result"] == nil {
		t.Errorf("a node without an agent answers %v", answer)
	}

	n.a.Kill()
	if answer := call("session/send", programtest.Object{"prompt": "hi"}); programtest.Text(answer, "error", "data", "code") != "owner_unreachable" {
		t.Errorf("with its owner killed it is %v", answer)
	}
}

// stopsATree: an interrupt of a session, and its deletion, reach a session below it at another node (MC-39).
func (n *nodes) stopsATree(t *testing.T) {
	t.Helper()
	parent, below := n.a.CreateSession(untrusted), n.b.CreateSession(untrusted)
	n.descends(t, below, parent)
	events := n.b.Follow("threadId=" + below)
	turn := n.b.Send(below, "MOCK_HOLD[below]")
	if err := n.siteB.Model.WaitHeld(t.Context(), "below"); err != nil {
		t.Fatal(err)
	}
	n.a.Send(parent, "MOCK_HOLD[above]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "above"); err != nil {
		t.Fatal(err)
	}
	n.b.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+parent+"/interrupt", nil)
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn below, at another node, ended %s", status)
	}
	n.siteA.Model.Release("above")
	n.siteB.Model.Release("below")
	n.b.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+parent, nil)
	archived, err := database.ReadTexts(t.Context(), dbtest.Connect(t, n.siteA.Store()).Read(), "read a session",
		`select id from sessions where id = $1 and archived = 1`, below)
	if err != nil || len(archived) != 1 {
		t.Errorf("the session below, at another node, is not archived (%v)", err)
	}
}
