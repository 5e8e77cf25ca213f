package jobs

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// cliSupervisor queues jobs whose worker acts over the API during its turn, like the workers of codex-manager's
// supervisor.
const cliSupervisor = `
const job = (tools, p, jobKind, more) => tools.enqueueJob({ type: "agent_instruction", projectId: p.projectId, sourceSessionId: p.sourceSessionId, payload: {
  agent: "supervisor", jobKind, projectId: p.projectId, sourceSessionId: p.sourceSessionId, threadId: p.threadId, turnId: p.turnId, expectResponse: "none", ...more } });
export function registerAgentEvents(registry) {
  registry.on("suggest_request.requested", ({ payload: p }, tools) => job(tools, { ...p, sourceSessionId: p.sessionId }, "suggest_request", {
    dedupeKey: "suggest_request:" + p.sessionId, completionSignal: { kind: "suggested_request", requestKey: p.requestKey },
    instructionText: "MOCK_HOLD[worker] turn " + p.turnId + "\n" + p.userRequest + "\n" + p.turnTranscript }));
  registry.on("file_change.approval_requested", ({ payload: { context: c } }, tools) => job(tools, c, "file_change_supervisor_review", {
    itemId: c.itemId, approvalId: c.approvalId, anchorItemId: c.anchorItemId, instructionText: "MOCK_REPLY[done]", supplementalTargets: [
      { messageId: "explanation", type: "fileChange.explainability", placeholderTexts: ["explaining"], completeFallback: "explained" },
      { messageId: "insight", type: "fileChange.supervisorInsight", placeholderTexts: ["reviewing"], completeFallback: "reviewed" }] }));
}
`

// A suggestion that a worker stores over the API answers its request immediately, before the worker's turn or job
// ends. The worker's transcript shows that the job has ended.
func TestSuggestionStoredByAWorkerIsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
			s.Extension("supervisor", map[string]string{"events.js": cliSupervisor})
			server := s.Start()
			session := server.CreateSession(nil)
			events := server.Follow("threadId=" + session)
			events.WaitTurn(server.Send(session, "MOCK_REPLY[hello]"))
			answers := make(chan programtest.Object, 1)
			go func() {
				status, answer := server.Call(http.MethodPost, "/api/sessions/"+session+"/suggested-request",
					programtest.Object{"draft": "my draft"})
				answer["httpStatus"] = float64(status)
				answers <- answer
			}()
			job := programtest.Text(events.WaitType("orchestrator_job_queued").Decoded(), "jobId")
			ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
			defer cancel()
			if err := s.Model.WaitHeld(ctx, "worker"); err != nil {
				t.Fatal(err)
			}
			stored, _ := server.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+job, nil)["job"].(programtest.Object)
			key := programtest.Text(stored, "payload", "completionSignal", "requestKey")
			if prompt := programtest.Text(stored, "payload", "instructionText"); !strings.Contains(prompt,
				"turn suggest-request\nMOCK_REPLY[hello]\n1. user: MOCK_REPLY[hello]\n2. assistant: hello") {
				t.Errorf("the worker got %q", prompt)
			}
			for _, body := range []programtest.Object{{"requestKey": key, "status": "streaming"},
				{"requestKey": key, "status": "complete", "suggestion": "Run the tests."}} {
				server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request/upsert", body)
			}
			if answer := <-answers; programtest.Text(answer, "httpStatus") != "200" || programtest.Text(answer, "status") != "ok" ||
				programtest.Text(answer, "suggestion") != "Run the tests." ||
				programtest.Text(answer, "requestKey") != key {
				t.Errorf("answered %v", answer)
			}
			done := events.WaitType("orchestrator_job_completed").Decoded()
			if result, _ := done["result"].(programtest.Object); programtest.Text(done, "jobId") != job || len(result) != 1 ||
				programtest.Text(result, "status") != "ok" {
				t.Errorf("completed with %v", done)
			}
			worker := programtest.Text(programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions")[0], "sessionId")
			var notes []string
			for _, entry := range server.Transcript(worker) {
				if programtest.Text(entry, "type") == "agent.worker.lifecycle" {
					notes = append(notes, programtest.Text(entry, "status")+" "+programtest.Text(entry, "content"))
				}
			}
			if want := []string{"complete Core queue-runner orientation completed.",
				`complete Queue job "suggest_request" completed.`}; !slices.Equal(notes, want) {
				t.Errorf("the worker's transcript says %q", notes)
			}
		})
	}
}

// A job's entries about a file change follow the change, the explanation before the insight: on the stream, in whole
// reads and in windows.
func TestExplanationComesBeforeInsight(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("DEFAULT_SANDBOX_MODE=read-only"))
	s.Extension("supervisor", map[string]string{"events.js": cliSupervisor})
	server := s.Start()
	_, session := projectSession(server)
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_PATCH[made.txt]")
	approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	waitJob(events, server, "file_change_supervisor_review", "orchestrator_job_completed")
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
	events.WaitTurn(turn)
	var got []string
	for _, f := range events.All() {
		if id := programtest.Text(f.Decoded(), "messageId"); f.Type == "transcript_updated" && (id == "explanation" || id == "insight") {
			got = append(got, id+" "+programtest.Text(f.Decoded(), "entry", "content"))
		}
	}
	if want := []string{"explanation explaining", "insight reviewing", "explanation explained",
		"insight reviewed"}; !slices.Equal(got, want) {
		t.Errorf("published %q", got)
	}
	for name, read := range map[string][]programtest.Object{"whole": server.Transcript(session),
		"window": server.Transcript(session + "?limit=100")} {
		var order []string
		for _, entry := range read {
			switch programtest.Text(entry, "type") {
			case "fileChange", "fileChange.explainability", "fileChange.supervisorInsight":
				order = append(order, programtest.Text(entry, "type")+" "+programtest.Text(entry, "status"))
			}
		}
		if want := []string{"fileChange complete", "fileChange.explainability complete",
			"fileChange.supervisorInsight complete"}; !slices.Equal(order, want) {
			t.Errorf("%s: %q", name, order)
		}
	}
}
