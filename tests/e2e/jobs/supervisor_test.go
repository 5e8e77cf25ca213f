package jobs

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// supervisor copies the example extension into the site's workspace.
func supervisor(s *programtest.Site) {
	s.T.Helper()
	if err := os.CopyFS(filepath.Join(s.Workspace, "agents", "supervisor"),
		os.DirFS("../../../docs/examples/agents/supervisor")); err != nil {
		s.T.Fatal(err)
	}
}

// projectSession opens a session of a new project that requires approval for file changes.
func projectSession(i *programtest.Server) (project, session string) {
	i.T.Helper()
	project = programtest.Text(i.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project", "projectId")
	session = i.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	i.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
	return project, session
}

// jobsOf lists an owner's jobs of a kind.
func jobsOf(i *programtest.Server, owner, kind string) (found []programtest.Object) {
	i.T.Helper()
	return programtest.JobsOf(i.Want(http.StatusOK, http.MethodGet, "/api/projects/"+owner+"/orchestrator/jobs", nil), kind)
}

// waitJob returns the event that ends a job of a kind. It must have the type.
func waitJob(f *programtest.Follower, i *programtest.Server, kind, ends string) programtest.Object {
	i.T.Helper()
	return f.Wait(kind+" "+ends, func(frame programtest.Frame) bool {
		if frame.Type != ends {
			return false
		}
		job := i.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+programtest.Text(frame.Decoded(), "jobId"), nil)
		return programtest.Text(job, "job", "payload", "jobKind") == kind
	}).Decoded()
}

// QU-10, QU-12, EX-21, EX-36, EX-39: the example supervisor explains a real codex's file change in the transcript
// while it waits, and reviews the turn after its end. It names the chat once for several messages. Its workers run as
// configured in agent.config.json.
func TestSupervisorExplainsReviewsAndNames(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite),
				programtest.WithEnv("DEFAULT_SANDBOX_MODE=read-only", "AGENT_EXTENSION_TRUST_MODE=enforced"))
			supervisor(s)
			server := s.Start()
			project, session := projectSession(server)
			events := server.Follow("threadId=" + session)
			// The model produces the name only for the first message, which the naming job quotes.
			events.WaitTurn(server.Send(session,
				`MOCK_REPLY[{"kind":"action_intents","intents":[{"kind":"action_request","actionType":"session.rename",`+
					`"payload":{"sessionId":"`+session+`","onlyFrom":"New chat","title":"A good name"}}]}]`))
			named := waitJob(events, server, "session_initial_rename", "orchestrator_job_completed")
			if title := programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session",
				"title"); title != "A good name" {
				t.Errorf("the chat is called %q, the job said %v", title, named)
			}
			// The same request does not create a second job.
			server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/rename", programtest.Object{"title": "New chat"})
			turn := server.Send(session, "MOCK_PATCH[made.txt]")
			approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
			placeholder := events.Wait("the placeholder", func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" &&
					strings.HasPrefix(programtest.Text(f.Decoded(), "messageId"), "supervisor-explanation:")
			}).Decoded()
			if programtest.Text(placeholder, "entry", "status") != "streaming" ||
				programtest.Text(placeholder, "entry", "type") != "fileChange.explainability" {
				t.Errorf("placeholder %v", placeholder)
			}
			shown := events.Wait("the explanation", func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "entry", "type") == "agent.jobOutput"
			}).Decoded()
			explained := waitJob(events, server, "file_change_supervisor_review", "orchestrator_job_completed")
			output := "agent-job-output::" + programtest.Text(explained, "jobId")
			content := programtest.Text(shown, "entry", "content")
			if content == "" || content != programtest.Text(explained, "result", "outputText") || programtest.Text(shown, "turnId") != turn ||
				programtest.Text(shown, "messageId") != output {
				t.Errorf("explained as %v, the job's result is %v", shown, explained)
			}
			server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
			events.WaitTurn(turn)
			waitJob(events, server, "turn_supervisor_review", "orchestrator_job_completed")

			states := map[string]string{}
			for _, entry := range server.Transcript(session) {
				states[programtest.Text(entry, "messageId")] = programtest.Text(entry, "status")
			}
			if states[output] != "complete" || states[programtest.Text(placeholder, "messageId")] != "complete" {
				t.Errorf("the transcript holds %v", states)
			}
			for kind, want := range map[string]int{"session_initial_rename": 1, "file_change_supervisor_review": 1,
				"turn_supervisor_review": 1} {
				if got := jobsOf(server, project, kind); len(got) != want {
					t.Errorf("%d jobs %s: %v", len(got), kind, got)
				}
			}
			worker := programtest.List(t, server, "/api/projects/"+project+"/agent-sessions")[0]
			detail := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+programtest.Text(worker, "sessionId"), nil)
			controls, _ := detail["session"].(programtest.Object)["sessionControls"].(programtest.Object)
			if programtest.Text(controls, "model") != "gpt-5.3-codex" || programtest.Text(controls, "filesystemSandbox") != "read-only" ||
				programtest.Text(controls, "networkAccess") != "restricted" || programtest.Text(controls, "approvalPolicy") != "never" {
				t.Errorf("the worker runs with %v", controls)
			}
		})
	}
}

// If the worker of a naming job finds no title, the chat still gets one: the first words of its first message.
func TestSupervisorNamesByFirstWords(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	supervisor(s)
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	events.WaitTurn(server.Send(session, "Mend the login page,\nwhich forgets users who come back after lunch"))
	waitJob(events, server, "session_initial_rename", "orchestrator_job_failed")
	title := programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil), "session", "title")
	if title != "Mend the login page, which forgets users who come back after…" {
		t.Errorf("the chat is called %q", title)
	}
	server.Stop()
}

// Bugs of the original: a feature that a session disabled queues nothing, the enabled ones work, and a suggestion
// returns "ok" with the worker's text.
func TestSupervisorSwitchedOff(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("DEFAULT_SANDBOX_MODE=read-only", "ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
	supervisor(s)
	server := s.Start()
	project, session := projectSession(server)
	server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/settings",
		programtest.Object{"scope": "session", "key": "supervisor",
			"value": programtest.Object{"explainFileChanges": false, "nameChats": false}})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, "MOCK_PATCH[made.txt]")
	approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
	events.WaitTurn(turn)
	// The review follows any job that would have been queued before it.
	waitJob(events, server, "turn_supervisor_review", "orchestrator_job_completed")
	for _, kind := range []string{"session_initial_rename", "file_change_supervisor_review"} {
		if jobs := jobsOf(server, project, kind); len(jobs) != 0 {
			t.Errorf("switched off, still queued: %v", jobs)
		}
	}
	suggested := server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/suggested-request",
		programtest.Object{"draft": "MOCK_REPLY[Next: tests.]"})
	if programtest.Text(suggested, "status") != "ok" || programtest.Text(suggested, "suggestion") == "" {
		t.Errorf("suggested %v", suggested)
	}

	// With the rest off, nothing reviews the next turn, and the suggestion route reports that there is no suggestion
	// (EX-33).
	before := len(jobsOf(server, project, "turn_supervisor_review"))
	server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/settings",
		programtest.Object{"scope": "session", "key": "supervisor", "value": false})
	for _, path := range []string{"/suggested-request", "/suggested-request/jobs"} {
		if refused := server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+path,
			programtest.Object{"draft": "x"}); programtest.Text(refused, "code") != "job_conflict" {
			t.Errorf("%s: %v", path, refused)
		}
	}
	turn = server.Send(session, "MOCK_PATCH[second.txt]")
	approval = programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
	events.WaitTurn(turn)
	server.Stop() // running handlers end first or run again after the start
	server = s.Start()
	if after := len(jobsOf(server, project, "turn_supervisor_review")); after != before {
		t.Errorf("switched off, still reviewed: %d jobs, %d before", after, before)
	}
}

// asker queues a job whose worker answers with actions. The user's message is the worker's instruction.
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

// QU-14, QU-16, QU-19, QU-20: an action of a worker takes effect once, however often the worker repeats it, and only
// within its session.
func TestWorkerIntentsActOnce(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	s.Extension("asker", map[string]string{"events.js": asker})
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	upsert := func(id, words string) string {
		return `{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"` + id +
			`","entry":{"messageId":"by-worker","turnId":"t-1","role":"system",` +
			`"type":"asker.note","content":"` + words + `","status":"complete"}}}`
	}
	answer := `MOCK_REPLY[{"kind":"action_intents","intents":[` + upsert(session, "done") + `,` +
		upsert("another", "stolen") + `]}]`
	var outcomes [2][]any
	for round := range outcomes {
		turn := server.Send(session, answer)
		done := events.WaitType("orchestrator_job_completed").Decoded()
		events.FindTurn(turn) // an item of it started the job, so it may end first
		outcomes[round], _ = done["result"].(programtest.Object)["actionResults"].([]any)
	}
	for round, results := range outcomes {
		if len(results) != 2 || programtest.Text(results[0], "status") != "performed" || programtest.Text(results[1], "status") != "forbidden" {
			t.Fatalf("round %d: %v", round, results)
		}
		if replayed := programtest.Text(results[0], "replayed") == "true"; replayed != (round == 1) {
			t.Errorf("round %d: replayed is %v", round, replayed)
		}
	}
	notes := 0
	for _, entry := range server.Transcript(session) {
		if programtest.Text(entry, "messageId") == "by-worker" && programtest.Text(entry, "content") == "done" {
			notes++
		}
	}
	if notes != 1 {
		t.Errorf("%d notes", notes)
	}
}

// QU-16: in trust mode enforced, a worker may use what its extension declared, like a handler. It may not use the
// declarations of another extension.
func TestAWorkersIntentsAreHeldToWhatIsDeclared(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.SQLite), programtest.WithEnv("AGENT_EXTENSION_TRUST_MODE=enforced"))
	manifest := func(name, actions string) string {
		return `{"name":"` + name + `","version":"1.0.0","agentId":"` + name + `","displayName":"` + name +
			`","entrypoints":{"events":"./events.js"},` +
			`"capabilities":{"events":["app_server.item.started"],"actions":[` + actions + `]}}`
	}
	named := func(name, agent string) string {
		return strings.ReplaceAll(strings.ReplaceAll(asker, `agent: "asker"`, `agent: "`+agent+`"`), `jobKind: "ask"`,
			`jobKind: "`+name+`"`)
	}
	s.Extension("asker",
		map[string]string{"events.js": named("asker", "asker"),
			"extension.manifest.json": manifest("asker", `"queue.enqueue","transcript.upsert"`)})
	s.Extension("mute",
		map[string]string{"events.js": named("mute", "mute"), "extension.manifest.json": manifest("mute", `"queue.enqueue"`)})
	s.Extension("sly", map[string]string{"events.js": named("sly", "asker"),
		"extension.manifest.json": manifest("sly", `"queue.enqueue"`)})
	server := s.Start()
	session := server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	server.Send(session,
		`MOCK_REPLY[{"kind":"action_intents","intents":[{"kind":"action_request","actionType":"transcript.upsert","payload":{"sessionId":"`+
			session+`","entry":{"messageId":"by-worker","turnId":"t-1","role":"system","type":"asker.note","content":"done",`+
			`"status":"complete"}}}]}]`)
	// the order in which they are queued and run
	for _, c := range [][2]string{{"asker", "performed"}, {"mute", "forbidden"}} {
		kind, want := c[0], c[1]
		waitJob(events, server, kind, "orchestrator_job_completed")
		job := jobsOf(server, "session:"+session, kind)[0]
		results, _ := job["result"].(programtest.Object)["actionResults"].([]any)
		if len(results) != 1 || programtest.Text(results[0], "status") != want {
			t.Errorf("%s: %v", kind, results)
		}
		if want == "forbidden" && programtest.Text(results[0], "details", "code") != "undeclared_capability" {
			t.Errorf("%s: %v", kind, results)
		}
	}
	if jobs := jobsOf(server, "session:"+session, "sly"); len(jobs) != 0 {
		t.Errorf("sly queued a job of asker's: %v", jobs)
	}
}

// QU-06, QU-13: the next server resumes the job of a server that died in the middle of it, and completes the promised
// entry.
func TestKilledInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.SQLite))
	s.Extension("asker", map[string]string{"events.js": asker})
	server := s.Start()
	session := server.CreateSession(nil)
	server.Send(session, "MOCK_HOLD[middle]") // the chat's turn and its worker's
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	if err := s.Model.WaitHeld(ctx, "middle"); err != nil {
		t.Fatal(err)
	}
	owner := "session:" + session
	server.Eventually("the worker's turn runs", func() bool {
		running := programtest.List(t, server, "/api/projects/"+owner+"/orchestrator/jobs?state=running")
		return len(running) == 1 && programtest.Text(running[0], "runningContext", "turnId") != ""
	})
	server.Kill()
	s.Model.Release("middle")
	server = s.Start()
	var job programtest.Object
	server.Eventually("the job has ended", func() bool {
		job = programtest.List(t, server, "/api/projects/"+owner+"/orchestrator/jobs")[0]
		return programtest.Text(job, "completedAt") != ""
	})
	// The held answer contains no action intents, so the job fails, still on its first attempt.
	if programtest.Text(job, "state") != "failed" || programtest.Text(job, "attempts") != "1" ||
		!strings.Contains(programtest.Text(job, "error"), "action intents") {
		t.Errorf("ended as %v", job)
	}
	for _, entry := range server.Transcript(session) {
		if programtest.Text(entry, "messageId") == "promised" && programtest.Text(entry, "status") == "error" &&
			strings.HasPrefix(programtest.Text(entry, "content"), "No answer.") {
			return
		}
	}
	t.Errorf("the promised entry was left: %v", server.Transcript(session))
}
