package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// ownerOf returns the node that owns a session.
func (n *nodes) ownerOf(t *testing.T, session string) (owner string) {
	t.Helper()
	db := dbtest.Connect(t, n.siteA.Store())
	if err := db.Read().QueryRowContext(t.Context(), `select node_id from sessions where id = $1`, session).Scan(&owner); err != nil {
		t.Fatalf("session %q: %v", session, err)
	}
	return owner
}

// drain makes a server accept nothing new, and waits until the server confirms it.
func drain(i *programtest.Server) {
	i.T.Helper()
	i.MustRun("nodes", "drain", nodeID(i.Site))
	i.Eventually("the node knows that it is drained", func() bool { return i.Metric("harness_node_draining") == 1 })
}

// If a client requests a session from a drained node, another node creates it, by every API. The drained node's own
// turns continue. If no other node creates sessions, the request is refused, except for a session that the same key
// created before.
func TestSessionsOfADrainedNodeAreMadeElsewhere(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	space := programtest.Text(n.a.Want(http.StatusOK, http.MethodPost, "/api/projects",
		programtest.Object{"name": "p", "workingDirectory": n.siteB.Workspace}), "project", "projectId")
	old := n.a.CreateSession(untrusted)
	events := n.a.Follow("threadId=" + old)
	running := n.a.Send(old, "MOCK_HOLD[on]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "on"); err != nil {
		t.Fatal(err)
	}
	drain(n.a)

	keyed := func(node *programtest.Server) (int, string) {
		t.Helper()
		node.Headers = map[string]string{"Idempotency-Key": "made-once"}
		defer func() { node.Headers = nil }()
		status, answer := node.Call(http.MethodPost, "/api/sessions", untrusted)
		return status, programtest.Text(answer, "session", "sessionId")
	}
	_, once := keyed(n.a)
	start := programtest.Object{"jsonrpc": "2.0", "id": 7, "method": "session/start", "params": programtest.Object{
		"workspace_id": space, "mode": "new", "prompt": "MOCK_REPLY[said]"}}
	made := map[string]string{
		"REST":            n.a.CreateSession(untrusted),
		"REST with a key": once,
		"the task API":    programtest.Text(n.a.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", nil), "session_id"),
		"JSON-RPC":        programtest.Text(n.a.Want(http.StatusOK, http.MethodPost, "/rpc", start), "result", "session_id"),
	}
	for how, session := range made {
		if owner := n.ownerOf(t, session); owner != nodeID(n.siteB) {
			t.Errorf("asked by %s session %s was made at %s", how, session, owner)
		}
	}
	if _, again := keyed(n.b); again != once {
		t.Errorf("with the same key the other node answers %s, want %s", again, once)
	}
	others := n.a.Follow("threadId=" + made["REST"])
	if status := others.WaitTurn(n.a.Send(made["REST"], "MOCK_REPLY[there]")); status != "completed" {
		t.Errorf("a turn of a session made elsewhere ended %s", status)
	}
	n.siteA.Model.Release("on")
	if status := events.WaitTurn(running); status != "completed" {
		t.Errorf("what ran at the drained node ended %s", status)
	}

	drain(n.b)
	status, answer := n.a.Call(http.MethodPost, "/api/sessions", untrusted)
	if status != http.StatusServiceUnavailable || !strings.Contains(fmt.Sprint(answer), "node "+nodeID(n.siteA)+" is being drained") {
		t.Errorf("with both drained it is answered %d %v", status, answer)
	}
	if status, again := keyed(n.a); status != http.StatusOK || again != once {
		t.Errorf("with both drained the key is answered %d %s, want %s", status, again, once)
	}
}
