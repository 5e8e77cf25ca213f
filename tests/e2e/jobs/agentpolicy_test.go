package jobs

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// errand queues a job for every message. The message's text is the instruction for the worker of agent "errand".
const errand = `
export function registerAgentEvents(registry) {
  registry.on("app_server.item.started", (event, tools) => {
    const { params, session } = event.payload;
    if (params.item.type !== "userMessage" || !session) return;
    const projectId = "session:" + session.id;
    return tools.enqueueJob({ type: "agent_instruction", projectId, sourceSessionId: session.id, payload: { agent: "errand", jobKind: "errand", projectId,
      sourceSessionId: session.id, threadId: session.id, turnId: "t-1", instructionText: "MOCK_CMD[touch " + params.item.content[0].text + "]" } });
  });
}
`

// runErrand makes a worker under this agent.config.json ("" for none) touch a file. It returns the finished job,
// whether the file exists, and the worker's session (nil if none was created).
func runErrand(t *testing.T, policy string, env ...string) (job programtest.Object, touched bool, worker programtest.Object) {
	t.Helper()
	s := programtest.New(t, programtest.WithEnv(env...))
	files := map[string]string{"events.js": errand}
	if policy != "" {
		files["agent.config.json"] = policy
	}
	s.Extension("errand", files)
	server := s.Start()
	work := t.TempDir()
	session := server.CreateSession(programtest.Object{"cwd": work, "filesystemSandbox": "read-only", "approvalPolicy": "never"})
	events := server.Follow("threadId=" + session)
	file := filepath.Join(work, "touched")
	server.Send(session, file)
	queued := programtest.Text(events.WaitType("orchestrator_job_queued").Decoded(), "jobId")
	server.Eventually("the job has ended", func() bool {
		job, _ = server.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+queued, nil)["job"].(programtest.Object)
		return programtest.Text(job, "completedAt") != ""
	})
	_, err := os.Stat(file)
	if workers := programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions"); len(workers) == 1 {
		worker = server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+programtest.Text(workers[0], "sessionId"), nil)
	}
	return job, err == nil, worker
}

// An agent.config.json of codex-manager's users applies to the real codex: a worker that may only read, and must ask,
// changes nothing.
func TestAgentPolicyOfCodexManagerHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  string
		env     string
		touches bool
	}{
		"read-only and untrusted": {
			policy: `{"turnPolicy":{"sandbox":"read-only","networkAccess":"restricted","approvalPolicy":"untrusted","effort":"low"}}`},
		"narrowed for instructions": {
			policy: `{"turnPolicy":{"sandbox":"danger-full-access","networkAccess":"enabled","approvalPolicy":"never"},
			"instructionTurnPolicy":{"sandbox":"read-only","approvalPolicy":"untrusted"},"threadStartPolicy":{"sandbox":"danger-full-access","approvalPolicy":"never"}}`},
		"widened for orientation": {policy: `{"turnPolicy":{"sandbox":"read-only","approvalPolicy":"untrusted"},
			"orientationTurnPolicy":{"sandbox":"danger-full-access","approvalPolicy":"never"}}`},
		"may": {
			policy:  `{"turnPolicy":{"sandbox":"danger-full-access","networkAccess":"enabled","approvalPolicy":"never"}}`,
			touches: true},
		"no file, narrow default": {env: "DEFAULT_SANDBOX_MODE=read-only"},
		"no file, wide default":   {env: "DEFAULT_APPROVAL_POLICY=never", touches: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job, touched, worker := runErrand(t, c.policy, c.env)
			if programtest.Text(job, "state") != "completed" || touched != c.touches {
				t.Errorf("%s %s; touched: %t", programtest.Text(job, "state"), programtest.Text(job, "error"), touched)
			}
			if controls, _ := worker["session"].(programtest.Object)["sessionControls"].(programtest.Object); controls["model"] != nil {
				t.Errorf("no model was set, the worker runs %v", controls["model"])
			}
		})
	}
}

// An invalid policy refuses the worker: the job fails immediately with the reason, and no session is created.
func TestAgentPolicyThatIsNoneRefusesTheWorker(t *testing.T) {
	t.Parallel()
	job, touched, worker := runErrand(t, `{"turnPolicy":{"sandbox":"readonly"}}`)
	if programtest.Text(job, "state") != "failed" || programtest.Text(job, "attempts") != "1" || touched || worker != nil {
		t.Errorf("ended as %v; touched: %t; worker %v", job, touched, worker)
	}
	for _, part := range []string{"errand/agent.config.json", "turnPolicy.sandbox", `"readonly"`,
		"read-only, workspace-write, danger-full-access"} {
		if !strings.Contains(programtest.Text(job, "error"), part) {
			t.Errorf("the error does not name %s: %s", part, programtest.Text(job, "error"))
		}
	}
}
