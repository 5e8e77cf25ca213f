package nodes

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// Clients can start and stop tasks on any node. The session's owner runs them.
func TestTasksAreRunByTheOwner(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(untrusted)
	tasks := "/v1/sessions/" + session + "/tasks"
	task := func(id, text string) {
		t.Helper()
		n.b.Want(http.StatusAccepted, http.MethodPost, tasks, programtest.Object{"taskId": id,
			"messages": []any{programtest.Object{"role": "user", "content": text}}})
	}
	ends := func(node *programtest.Server, id, status string) {
		t.Helper()
		node.Eventually("task "+id+" is "+status, func() bool {
			return programtest.Text(node.Want(http.StatusOK, http.MethodGet, tasks+"/"+id, nil), "status") == status
		})
	}
	task("said", "MOCK_REPLY[done]")
	ends(n.b, "said", "completed")

	task("held", "MOCK_HOLD[held]")
	if err := n.siteA.Model.WaitHeld(t.Context(), "held"); err != nil {
		t.Fatal(err)
	}
	n.b.Want(http.StatusOK, http.MethodPost, tasks+"/held/stop", nil)
	ends(n.a, "held", "stopped")
	n.siteA.Model.Release("held") // not earlier: the turn would end by itself if the stop came before its id is known

	// Refusals come from the owner too, and a body above the maximum length is refused.
	n.b.Want(http.StatusConflict, http.MethodPost, tasks, programtest.Object{"task_id": "said",
		"messages": []any{programtest.Object{"role": "user", "content": "again"}}})
	n.b.Want(http.StatusNotFound, http.MethodPost, tasks+"/none/stop", nil)
	n.b.Want(http.StatusNotFound, http.MethodPost, "/v1/sessions/none/tasks", programtest.Object{
		"messages": []any{programtest.Object{"role": "user", "content": "hi"}}})
	n.b.Want(http.StatusRequestEntityTooLarge, http.MethodPost, tasks, programtest.Object{
		"messages": []any{programtest.Object{"role": "user", "content": strings.Repeat("x", 2<<20)}}})
	if calls := n.siteB.Calls(session); len(calls) > 0 {
		t.Errorf("the codex of the other node got %v", calls)
	}

	n.a.Kill()
	status, answer := n.b.Call(http.MethodPost, tasks, programtest.Object{
		"messages": []any{programtest.Object{"role": "user", "content": "hi"}}})
	if status != http.StatusServiceUnavailable || programtest.Text(answer, "error") != "owner_unreachable" ||
		programtest.Text(answer, "node_id") != nodeID(n.siteA) {
		t.Errorf("with its owner killed it is %d %v", status, answer)
	}
}
