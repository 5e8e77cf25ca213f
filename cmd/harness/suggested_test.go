package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/internal/dbtest"
)

// cliSupervisor queues jobs whose worker does its work over the API while its turn runs, as codex-manager's supervisor
// has its workers do.
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
      { messageId: "insight", type: "fileChange.supervisorInsight", placeholderTexts: ["judging"], completeFallback: "judged" }] }));
}
`

// A suggestion that a worker stores over the API is the answer of whoever asked for it, at once: neither the worker's
// turn nor its job is waited for. The worker's transcript tells that the job is done.
func TestSuggestionStoredByAWorkerIsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine), withEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
			s.extension("supervisor", map[string]string{"events.js": cliSupervisor})
			server := s.start()
			session := server.createSession(nil)
			events := server.follow("threadId=" + session)
			events.waitTurn(server.send(session, "MOCK_REPLY[hello]"))
			answers := make(chan object, 1)
			go func() {
				status, answer := server.call(http.MethodPost, "/api/sessions/"+session+"/suggested-request",
					object{"draft": "my draft"})
				answer["httpStatus"] = float64(status)
				answers <- answer
			}()
			job := text(events.waitType("orchestrator_job_queued").payload(), "jobId")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := s.model.WaitHeld(ctx, "worker"); err != nil {
				t.Fatal(err)
			}
			stored, _ := server.want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+job, nil)["job"].(object)
			key := text(stored, "payload", "completionSignal", "requestKey")
			if told := text(stored, "payload", "instructionText"); !strings.Contains(told,
				"turn suggest-request\nMOCK_REPLY[hello]\n1. user: MOCK_REPLY[hello]\n2. assistant: hello") {
				t.Errorf("the worker was told %q", told)
			}
			for _, body := range []object{{"requestKey": key, "status": "streaming"},
				{"requestKey": key, "status": "complete", "suggestion": "Run the tests."}} {
				server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request/upsert", body)
			}
			if answer := <-answers; text(answer, "httpStatus") != "200" || text(answer, "status") != "ok" ||
				text(answer, "suggestion") != "Run the tests." ||
				text(answer, "requestKey") != key {
				t.Errorf("answered %v", answer)
			}
			done := events.waitType("orchestrator_job_completed").payload()
			if result, _ := done["result"].(object); text(done, "jobId") != job || len(result) != 1 ||
				text(result, "status") != "ok" {
				t.Errorf("completed with %v", done)
			}
			worker := text(list(t, server, "/api/projects/session:"+session+"/agent-sessions")[0], "sessionId")
			var notes []string
			for _, entry := range server.transcript(worker) {
				if text(entry, "type") == "agent.worker.lifecycle" {
					notes = append(notes, text(entry, "status")+" "+text(entry, "content"))
				}
			}
			if want := []string{"complete Core queue-runner orientation completed.",
				`complete Queue job "suggest_request" completed.`}; !slices.Equal(notes, want) {
				t.Errorf("the worker's transcript says %q", notes)
			}
		})
	}
}

// What a job owes about a file change stands behind the change, the explanation before the insight: on the stream, in
// whole reads and in windows.
func TestExplanationComesBeforeInsight(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("DEFAULT_SANDBOX_MODE=read-only"))
	s.extension("supervisor", map[string]string{"events.js": cliSupervisor})
	server := s.start()
	_, session := server.projectSession()
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_PATCH[made.txt]")
	approval := text(events.waitType("approval").payload(), "approvalId")
	events.waitJob(server, "file_change_supervisor_review", "orchestrator_job_completed")
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
	events.waitTurn(turn)
	var told []string
	for _, f := range events.all() {
		if id := text(f.payload(), "messageId"); f.Type == "transcript_updated" && (id == "explanation" || id == "insight") {
			told = append(told, id+" "+text(f.payload(), "entry", "content"))
		}
	}
	if want := []string{"explanation explaining", "insight judging", "explanation explained",
		"insight judged"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	for name, read := range map[string][]object{"whole": server.transcript(session),
		"window": server.transcript(session + "?limit=100")} {
		var order []string
		for _, entry := range read {
			switch text(entry, "type") {
			case "fileChange", "fileChange.explainability", "fileChange.supervisorInsight":
				order = append(order, text(entry, "type")+" "+text(entry, "status"))
			}
		}
		if want := []string{"fileChange complete", "fileChange.explainability complete",
			"fileChange.supervisorInsight complete"}; !slices.Equal(order, want) {
			t.Errorf("%s: %q", name, order)
		}
	}
}
