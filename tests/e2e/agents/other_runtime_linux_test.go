package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
	"harness/tests/runtimetest/scripted"
)

// A server without codex runs a quite different agent, with a process for each conversation. The adapter gets the
// server's services, the server recognizes its agents by their processes, and workers and extensions select it by
// configuration.
func TestAServerOfAnotherRuntime(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithRaceDetector(), programtest.WithScripted())
	folder := filepath.Join(s.Workspace, "agents", "helper")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // like any extension
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"agent.config.json": `{"runtime":"scripted","model":"thorough","sandbox":"danger-full-access",` +
			`"networkAccess":"enabled","approvalPolicy":"untrusted"}`,
		"events.mjs": `export function registerAgentEvents(registry) {
			registry.on("app_server.request.item.command_execution.request_approval", ({ payload: { context, source, runtime, session } }, tools) =>
				tools.enqueueJob({ type: "agent_instruction", projectId: "session:" + session.id, sourceSessionId: session.id, payload: {
					agent: "helper", jobKind: "help", projectId: "session:" + session.id, sourceSessionId: session.id, threadId: session.id,
					turnId: context.turnId, instructionText: "REPLY[" + source + " says " + runtime + "]" } }));
		}
		`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := s.Start("HARNESS_RUNTIMES=scripted", "DEFAULT_APPROVAL_POLICY=untrusted", "DEFAULT_NETWORK_ACCESS=enabled",
		"HARNESS_RUNTIME_LIMITS=processes=1")
	served := func() (sessions string) {
		for _, process := range server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/scripted",
			nil)["processes"].([]any) {
			sessions += " " + programtest.Text(process, "sessionId")
		}
		return sessions
	}

	first := server.CreateSession(programtest.Object{})
	if said := answerOf(server, first, "REPLY[hello]"); said != "hello" || served() != " "+first {
		t.Errorf("it said %q, and its processes serve%s", said, served())
	}
	session := server.CreateSession(programtest.Object{})
	if served() != " "+session {
		t.Errorf("with one process at most they serve%s, want %s", served(), session)
	}

	server.Send(session, "RUN["+throughDoor(http.MethodGet, "/api/sessions", "")+"]")
	var asked []any
	server.Eventually("the agent asks", func() bool {
		asked = server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
		return len(asked) == 1
	})
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(asked[0], "approvalId")+"/decision",
		programtest.Object{"decision": "accept"})
	server.Eventually("its command was refused, as of its session", func() bool {
		return strings.Contains(server.Log(), `"agent_session":"`+session+`"`)
	})

	var job programtest.Object
	server.Eventually("the worker has done its job", func() bool {
		jobs := server.Want(http.StatusOK, http.MethodGet, "/api/projects/session:"+session+"/orchestrator/jobs",
			nil)["data"].([]any)
		if len(jobs) == 1 {
			job = jobs[0].(programtest.Object)
		}
		return programtest.Text(job, "state") == "completed" || programtest.Text(job, "state") == "failed"
	})
	if said := programtest.Text(job, "result", "outputText"); said != "scripted says scripted" {
		t.Errorf("the job is %v", job)
	}
	workers := server.Want(http.StatusOK, http.MethodGet, "/api/projects/session:"+session+"/agent-sessions",
		nil)["data"].([]any)
	worker := programtest.Text(workers[0], "sessionId")
	listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions?includeSystemOwned=true&runtime=scripted",
		nil)["data"].([]any)
	found := false
	for _, one := range listed {
		found = found || programtest.Text(one, "sessionId") == worker
	}
	if len(workers) != 1 || !found {
		t.Errorf("the workers are %v, of the runtime %v", workers, listed)
	}

	for target, status := range map[string]int{"/api/account": http.StatusNotImplemented, "/api/models": http.StatusOK,
		"/api/capabilities": http.StatusOK} {
		if got, body := server.Call(http.MethodGet, target, nil); got != status {
			t.Errorf("%s: %d %v", target, got, body)
		}
	}
	for _, target := range []string{"/api/runtimes", "/api/runtimes/scripted", "/api/health", "/api/sessions/" + session} {
		if _, body, err := server.Try(http.MethodGet, target, nil); err != nil ||
			strings.Contains(string(body), scripted.PlantedToken) {
			t.Errorf("%s shows the agent's token: %s, %v", target, body, err)
		}
	}
	server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+session, nil)
	if strings.Contains(served(), session) {
		t.Errorf("the deleted session still has its process:%s", served())
	}
	server.Stop()
	if strings.Contains(server.Log(), scripted.PlantedToken) {
		t.Error("the log has the agent's token")
	}
}
