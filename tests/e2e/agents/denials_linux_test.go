package agents

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime/codex"
	"harness/tests/programtest"
)

// SE-06, SE-08: for every real agent in mode ask. A decision that arrives with a call's event, before the agent's
// request, is kept for the request. The reason of a denial reaches the model: at once, or with the next message if
// the response says so. A call that ran has its mode and confinement.
func TestDecisionsAboutCallsOfEveryRuntime(t *testing.T) {
	t.Parallel()
	s := withEveryRuntime(t)
	server := s.Start()
	server.WaitRuntime()
	open := programtest.Object{"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}
	all := append(everyRuntime(), driven{name: codex.Name, command: everyRuntime()[0].command, levels: open})
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) { decides(t, server, one) })
	}
}

func decides(t *testing.T, server *programtest.Server, one driven) {
	body := maps.Clone(one.levels)
	body["runtime"], body["cwd"] = one.name, server.Workspace
	base := "/v1/sessions/" + server.CreateSession(body)
	task := func(text string) string {
		return programtest.Text(server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{
			"permission_mode": "ask", "messages": []any{programtest.Object{"role": "user", "content": text}}}), "task_id")
	}
	// event waits for the first event of a type in a task.
	event := func(task, kind string) (found programtest.Object) {
		server.Eventually(one.name+": "+kind+" of "+task, func() bool {
			for _, e := range server.Want(http.StatusOK, http.MethodGet, base+"/events?limit=5000", nil)["events"].([]any) {
				if e := e.(programtest.Object); e["type"] == kind && programtest.Text(e, "trace", "task_id") == task {
					found, _ = e["payload"].(programtest.Object)
					return true
				}
			}
			return false
		})
		return found
	}
	decide := func(word string, call programtest.Object, reason string) programtest.Object {
		return server.Want(http.StatusOK, http.MethodPost, base+"/tool-calls/"+url.PathEscape(programtest.Text(call,
			"tool_call_id"))+"/"+word, programtest.Object{"attempt": call["attempt"], "input_hash": call["input_hash"],
			"reason": reason})
	}
	refused, reason := filepath.Join(server.Workspace, "refused-"+one.name), "not on a Friday, "+one.name
	first := task(one.command("touch " + refused))
	said := decide("deny", event(first, "tool.call.requested"), reason)
	denied := event(first, "tool.call.denied")
	if programtest.Text(denied, "reason") != reason || programtest.Text(denied, "policy_snapshot", "permission_mode") != "ask" {
		t.Errorf("it is denied with %v", denied)
	}
	server.Eventually("the task is over", func() bool {
		return programtest.Text(server.Want(http.StatusOK, http.MethodGet, base+"/tasks/"+first, nil), "ended_at") != ""
	})
	can := server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+one.name, nil)
	capabilities, _ := can["capabilities"].(programtest.Object)
	atOnce := capabilities["denyReason"] == true
	if waits := programtest.Text(said, "reason_reaches") == "next_message"; waits == atOnce {
		t.Errorf("the denial is answered %v", said)
	}
	if asked := server.Model.Asked(reason) != ""; asked != atOnce {
		t.Errorf("the model got the reason at once: %t", asked)
	}
	event(task("MOCK_REPLY[noted]"), "task.completed")
	if server.Model.Asked(reason) == "" {
		t.Error("the model never got the reason")
	}
	if _, err := os.Stat(refused); err == nil {
		t.Error("what was denied ran")
	}

	second := task(one.command("touch " + refused + "-not"))
	decide("approve", event(second, "tool.call.requested"), "")
	ran := event(second, "tool.call.completed")
	if programtest.Text(ran, "policy_snapshot", "permission_mode") != "ask" ||
		programtest.Text(ran, "sandbox", "filesystem") != "danger-full-access" || programtest.Text(ran, "sandbox", "network") != "true" {
		t.Errorf("it ran held by %v, decided by %v", ran["sandbox"], ran["policy_snapshot"])
	}
}
