package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/database"
	"harness/internal/dbtest"
)

// supervisor puts the example extension into the site's workspace.
func (s *site) supervisor() {
	s.t.Helper()
	if err := os.CopyFS(filepath.Join(s.workspace, "agents", "supervisor"),
		os.DirFS("../../examples/agents/supervisor")); err != nil {
		s.t.Fatal(err)
	}
}

// projectSession opens a session of a new project that asks before it changes files.
func (i *instance) projectSession() (project, session string) {
	i.t.Helper()
	project = text(i.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "p"}), "project", "projectId")
	session = i.createSession(object{"approvalPolicy": "untrusted"})
	i.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", object{"projectId": project})
	return project, session
}

// jobsOf lists an owner's jobs of a kind.
func (i *instance) jobsOf(owner, kind string) (found []object) {
	i.t.Helper()
	return jobsOf(i.want(http.StatusOK, http.MethodGet, "/api/projects/"+owner+"/orchestrator/jobs", nil), kind)
}

// jobsOf are those of a kind in a list of jobs.
func jobsOf(listed object, kind string) (found []object) {
	jobs, _ := listed["data"].([]any)
	for _, one := range jobs {
		if job, is := one.(object); is && text(job, "payload", "jobKind") == kind {
			found = append(found, job)
		}
	}
	return found
}

// waitJob returns the event that ends a job of a kind, which must be of the type.
func (f *follower) waitJob(i *instance, kind, ends string) object {
	i.t.Helper()
	return f.wait(kind+" "+ends, func(frame frame) bool {
		if frame.Type != ends {
			return false
		}
		job := i.want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+text(frame.payload(), "jobId"), nil)
		return text(job, "job", "payload", "jobKind") == kind
	}).payload()
}

// QU-10, QU-12, EX-21, EX-36, EX-39: the example supervisor explains a real codex's file change in the transcript while
// it waits, reviews the turn once it is over, and names the chat once for several messages; its workers run as
// agent.config.json says.
func TestSupervisorExplainsReviewsAndNames(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine), withRaceDetector(),
				withEnv("DEFAULT_SANDBOX_MODE=read-only", "AGENT_EXTENSION_TRUST_MODE=enforced"))
			s.supervisor()
			server := s.start()
			project, session := server.projectSession()
			events := server.follow("threadId=" + session)
			// The name comes out of the model only in the first message, which the naming job quotes.
			events.waitTurn(server.send(session,
				`MOCK_REPLY[{"kind":"action_intents","intents":[{"kind":"action_request","actionType":"session.rename",`+
					`"payload":{"sessionId":"`+session+`","onlyFrom":"New chat","title":"A good name"}}]}]`))
			named := events.waitJob(server, "session_initial_rename", "orchestrator_job_completed")
			if title := text(server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session",
				"title"); title != "A good name" {
				t.Errorf("the chat is called %q, the job said %v", title, named)
			}
			// Called as before, it does not get a second job.
			server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rename", object{"title": "New chat"})
			turn := server.send(session, "MOCK_PATCH[made.txt]")
			approval := text(events.waitType("approval").payload(), "approvalId")
			placeholder := events.wait("the placeholder", func(f frame) bool {
				return f.Type == "transcript_updated" &&
					strings.HasPrefix(text(f.payload(), "messageId"), "supervisor-explanation:")
			}).payload()
			if text(placeholder, "entry", "status") != "streaming" ||
				text(placeholder, "entry", "type") != "fileChange.explainability" {
				t.Errorf("placeholder %v", placeholder)
			}
			told := events.wait("the explanation", func(f frame) bool {
				return f.Type == "transcript_updated" && text(f.payload(), "entry", "type") == "agent.jobOutput"
			}).payload()
			explained := events.waitJob(server, "file_change_supervisor_review", "orchestrator_job_completed")
			output := "agent-job-output::" + text(explained, "jobId")
			content := text(told, "entry", "content")
			if content == "" || content != text(explained, "result", "outputText") || text(told, "turnId") != turn ||
				text(told, "messageId") != output {
				t.Errorf("explained as %v, the job's result is %v", told, explained)
			}
			server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
			events.waitTurn(turn)
			events.waitJob(server, "turn_supervisor_review", "orchestrator_job_completed")

			states := map[string]string{}
			for _, entry := range server.transcript(session) {
				states[text(entry, "messageId")] = text(entry, "status")
			}
			if states[output] != "complete" || states[text(placeholder, "messageId")] != "complete" {
				t.Errorf("the transcript holds %v", states)
			}
			for kind, want := range map[string]int{"session_initial_rename": 1, "file_change_supervisor_review": 1,
				"turn_supervisor_review": 1} {
				if got := server.jobsOf(project, kind); len(got) != want {
					t.Errorf("%d jobs %s: %v", len(got), kind, got)
				}
			}
			worker := list(t, server, "/api/projects/"+project+"/agent-sessions")[0]
			detail := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+text(worker, "sessionId"), nil)
			controls, _ := detail["session"].(object)["sessionControls"].(object)
			if text(controls, "model") != "gpt-5.3-codex" || text(controls, "filesystemSandbox") != "read-only" ||
				text(controls, "networkAccess") != "restricted" || text(controls, "approvalPolicy") != "never" {
				t.Errorf("the worker runs with %v", controls)
			}
		})
	}
}

// A naming job whose worker finds no title leaves no nameless chat: it is called by the first words said in it.
func TestSupervisorNamesByFirstWords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.supervisor()
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	events.waitTurn(server.send(session, "Mend the login page,\nwhich forgets everybody who comes back after lunch"))
	events.waitJob(server, "session_initial_rename", "orchestrator_job_failed")
	title := text(server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session", "title")
	if title != "Mend the login page, which forgets everybody who comes back…" {
		t.Errorf("the chat is called %q", title)
	}
	server.stop()
}

// Bugs of the original: what a session switched off queues nothing, what it left on works, and a suggestion is answered
// as "ok" with the worker's text.
func TestSupervisorSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("DEFAULT_SANDBOX_MODE=read-only", "ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
	s.supervisor()
	server := s.start()
	project, session := server.projectSession()
	server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/settings",
		object{"scope": "session", "key": "supervisor",
			"value": object{"explainFileChanges": false, "nameChats": false}})
	events := server.follow("threadId=" + session)
	turn := server.send(session, "MOCK_PATCH[made.txt]")
	approval := text(events.waitType("approval").payload(), "approvalId")
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
	events.waitTurn(turn)
	// The review comes after what would have been queued before it.
	events.waitJob(server, "turn_supervisor_review", "orchestrator_job_completed")
	for _, kind := range []string{"session_initial_rename", "file_change_supervisor_review"} {
		if jobs := server.jobsOf(project, kind); len(jobs) != 0 {
			t.Errorf("switched off, still queued: %v", jobs)
		}
	}
	suggested := server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
		object{"draft": "MOCK_REPLY[Next: tests.]"})
	if text(suggested, "status") != "ok" || text(suggested, "suggestion") == "" {
		t.Errorf("suggested %v", suggested)
	}

	// The rest off: nothing reviews the next turn, and the suggestion route says that nobody makes one (EX-33).
	before := len(server.jobsOf(project, "turn_supervisor_review"))
	server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/settings",
		object{"scope": "session", "key": "supervisor", "value": false})
	for _, path := range []string{"/suggested-request", "/suggested-request/jobs"} {
		if refused := server.want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+path,
			object{"draft": "x"}); text(refused, "code") != "job_conflict" {
			t.Errorf("%s: %v", path, refused)
		}
	}
	turn = server.send(session, "MOCK_PATCH[second.txt]")
	approval = text(events.waitType("approval").payload(), "approvalId")
	server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
	events.waitTurn(turn)
	server.stop() // handlers under way are waited for or told again after the start
	server = s.start()
	if after := len(server.jobsOf(project, "turn_supervisor_review")); after != before {
		t.Errorf("switched off, still reviewed: %d jobs, %d before", after, before)
	}
}

// asker queues a job whose worker answers with actions; the user's message is the worker's instruction.
const asker = `
export function registerAgentEvents(registry) {
  registry.on("app_server.item.started", (event, tools) => {
    const { params, session, context } = event.payload;
    if (params.item.type !== "userMessage" || !session) return;
    const projectId = "session:" + session.id;
    return tools.enqueueJob({ type: "agent_instruction", projectId, sourceSessionId: session.id, payload: { agent: "asker", jobKind: "ask", projectId,
      sourceSessionId: session.id, threadId: session.id, turnId: "t-1", instructionText: params.item.content[0].text, expectResponse: "action_intents",
      supplementalTargets: [{ messageId: "promised", type: "asker.note", errorFallback: "No answer." }] } });
  });
}
`

// QU-14, QU-16, QU-19, QU-20: what a worker asks for is done once, however often it asks, and nothing outside of its
// session.
func TestWorkerIntentsActOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.extension("asker", map[string]string{"events.js": asker})
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	upsert := func(id, words string) string {
		return `{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"` + id +
			`","entry":{"messageId":"by-worker","turnId":"t-1","role":"system",` +
			`"type":"asker.note","content":"` + words + `","status":"complete"}}}`
	}
	answer := `MOCK_REPLY[{"kind":"action_intents","intents":[` + upsert(session, "done") + `,` +
		upsert("another", "stolen") + `]}]`
	var outcomes [2][]any
	for round := range outcomes {
		events.waitTurn(server.send(session, answer))
		done := events.waitType("orchestrator_job_completed").payload()
		outcomes[round], _ = done["result"].(object)["actionResults"].([]any)
	}
	for round, results := range outcomes {
		if len(results) != 2 || text(results[0], "status") != "performed" || text(results[1], "status") != "forbidden" {
			t.Fatalf("round %d: %v", round, results)
		}
		if replayed := text(results[0], "replayed") == "true"; replayed != (round == 1) {
			t.Errorf("round %d: replayed is %v", round, replayed)
		}
	}
	notes := 0
	for _, entry := range server.transcript(session) {
		if text(entry, "messageId") == "by-worker" && text(entry, "content") == "done" {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
}

// QU-16: in trust mode enforced a worker may ask for what its extension declared, as a handler may, and for nothing by
// the declaration of another extension.
func TestAWorkersIntentsAreHeldToWhatIsDeclared(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEngine(database.SQLite), withEnv("AGENT_EXTENSION_TRUST_MODE=enforced"))
	manifest := func(name, actions string) string {
		return `{"name":"` + name + `","version":"1.0.0","agentId":"` + name + `","displayName":"` + name +
			`","entrypoints":{"events":"./events.js"},` +
			`"capabilities":{"events":["app_server.item.started"],"actions":[` + actions + `]}}`
	}
	named := func(name, agent string) string {
		return strings.ReplaceAll(strings.ReplaceAll(asker, `agent: "asker"`, `agent: "`+agent+`"`), `jobKind: "ask"`,
			`jobKind: "`+name+`"`)
	}
	s.extension("asker",
		map[string]string{"events.js": named("asker", "asker"),
			"extension.manifest.json": manifest("asker", `"queue.enqueue","transcript.upsert"`)})
	s.extension("mute",
		map[string]string{"events.js": named("mute", "mute"), "extension.manifest.json": manifest("mute", `"queue.enqueue"`)})
	s.extension("sly", map[string]string{"events.js": named("sly", "asker"),
		"extension.manifest.json": manifest("sly", `"queue.enqueue"`)})
	server := s.start()
	session := server.createSession(nil)
	events := server.follow("threadId=" + session)
	server.send(session,
		`MOCK_REPLY[{"kind":"action_intents","intents":[{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"`+
			session+`","entry":{"messageId":"by-worker","turnId":"t-1","role":"system","type":"asker.note","content":"done",`+
			`"status":"complete"}}}]}]`)
	// the order in which they are queued, and done
	for _, c := range [][2]string{{"asker", "performed"}, {"mute", "forbidden"}} {
		kind, want := c[0], c[1]
		events.waitJob(server, kind, "orchestrator_job_completed")
		job := server.jobsOf("session:"+session, kind)[0]
		results, _ := job["result"].(object)["actionResults"].([]any)
		if len(results) != 1 || text(results[0], "status") != want {
			t.Errorf("%s: %v", kind, results)
		}
		if want == "forbidden" && text(results[0], "details", "code") != "undeclared_capability" {
			t.Errorf("%s: %v", kind, results)
		}
	}
	if jobs := server.jobsOf("session:"+session, "sly"); len(jobs) != 0 {
		t.Errorf("sly queued a job of asker's: %v", jobs)
	}
}

// QU-06, QU-13: a server that dies in the middle of a job leaves one the next server takes up, with its promised entry
// brought to an end.
func TestKilledInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEngine(database.SQLite))
	s.extension("asker", map[string]string{"events.js": asker})
	server := s.start()
	session := server.createSession(nil)
	server.send(session, "MOCK_HOLD[middle]") // the chat's turn, and its worker's
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.model.WaitHeld(ctx, "middle"); err != nil {
		t.Fatal(err)
	}
	owner := "session:" + session
	server.eventually("the worker's turn runs", func() bool {
		running := list(t, server, "/api/projects/"+owner+"/orchestrator/jobs?state=running")
		return len(running) == 1 && text(running[0], "runningContext", "turnId") != ""
	})
	server.kill()
	s.model.Release("middle")
	server = s.start()
	var job object
	server.eventually("the job has ended", func() bool {
		job = list(t, server, "/api/projects/"+owner+"/orchestrator/jobs")[0]
		return text(job, "completedAt") != ""
	})
	// The held answer is no action intents: the job ends as failed, still on its first attempt.
	if text(job, "state") != "failed" || text(job, "attempts") != "1" ||
		!strings.Contains(text(job, "error"), "action intents") {
		t.Errorf("ended as %v", job)
	}
	for _, entry := range server.transcript(session) {
		if text(entry, "messageId") == "promised" && text(entry, "status") == "error" &&
			strings.HasPrefix(text(entry, "content"), "No answer.") {
			return
		}
	}
	t.Errorf("the promised entry was left: %v", server.transcript(session))
}
