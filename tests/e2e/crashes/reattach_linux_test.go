package crashes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/runtime/process/shim"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// lineErrand queues a job for each message that starts with "errand NAME". Its worker writes one line into NAME.txt
// and then waits for NAME.
const lineErrand = `
export function registerAgentEvents(registry) {
  registry.on("app_server.item.started", (event, tools) => {
    const { params, session } = event.payload;
    if (params.item.type !== "userMessage" || !session) return null;
    const [word, name] = params.item.content[0].text.split(" ");
    if (word !== "errand") return null;
    const projectId = "session:" + session.id;
    return tools.enqueueJob({ type: "agent_instruction", projectId, sourceSessionId: session.id, payload: { agent: "errand", jobKind: name, projectId,
      sourceSessionId: session.id, threadId: session.id, turnId: name, expectResponse: "none",
      instructionText: "MOCK_CMD[echo " + name + " >> " + name + ".txt] MOCK_SLOW[3,20] MOCK_HOLD[" + name + "]" } });
  });
}
`

// withErrands makes a site with the extension. Its workers need no approvals.
func withErrands(t *testing.T, options ...programtest.SiteOption) *programtest.Site {
	t.Helper()
	s := programtest.New(t, options...)
	addErrands(s)
	return s
}

func addErrands(s *programtest.Site) {
	s.T.Helper()
	s.Extension("errand", map[string]string{
		"events.js":         lineErrand,
		"agent.config.json": `{"turnPolicy":{"sandbox":"danger-full-access","approvalPolicy":"never"}}`,
	})
}

// onErrand starts a server and leaves it in the middle of the errand "one" of a session.
func onErrand(t *testing.T, options ...programtest.SiteOption) (s *programtest.Site, server *programtest.Server, session string) {
	t.Helper()
	s = withErrands(t, options...)
	server = s.Start()
	session = server.CreateSession(nil)
	errand(server, session, "one")
	held(s, "one")
	return s, server, session
}

func errand(i *programtest.Server, session, name string) {
	i.Send(session, "errand "+name+" MOCK_REPLY[ok]")
}

// jobOf returns the errand's job. Each store connection that broke during the outage may make one read fail.
func jobOf(i *programtest.Server, session, name string) programtest.Object {
	i.T.Helper()
	var job programtest.Object
	i.Eventually("the job is queued", func() bool {
		status, answer := i.Call(http.MethodGet, "/api/projects/session:"+session+"/orchestrator/jobs", nil)
		if status == http.StatusServiceUnavailable {
			return false
		}
		if found := programtest.JobsOf(answer, name); len(found) == 1 {
			job = found[0]
		}
		return job != nil
	})
	return job
}

// ended waits for the end of an errand's job.
func ended(i *programtest.Server, session, name string) programtest.Object {
	i.T.Helper()
	var job programtest.Object
	i.Eventually("the job has ended", func() bool {
		job = jobOf(i, session, name)
		return programtest.Text(job, "completedAt") != ""
	})
	return job
}

// ran returns the lines that an errand wrote.
func ran(s *programtest.Site, name string) string {
	s.T.Helper()
	lines, err := os.ReadFile(filepath.Join(s.Workspace, name+".txt"))
	if err != nil && !os.IsNotExist(err) {
		s.T.Fatal(err)
	}
	return string(lines)
}

func held(s *programtest.Site, name string) {
	s.T.Helper()
	if err := s.Model.WaitHeld(s.T.Context(), name); err != nil {
		s.T.Fatal(err)
	}
}

// The server is killed, or stopped for an upgrade, while a job's turn runs. The next server resumes that turn as the
// same attempt, even if it ends while no server runs, and the instruction runs once.
func TestAJobGoesOnWithItsTurn(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s kept %t", engine, kept), func(t *testing.T) {
				t.Parallel()
				s, server, session := onErrand(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_KEEP_RUNTIMES=true"))
				before := jobOf(server, session, "one")
				said := said(s, shimOf(s))
				if kept {
					server.Stop()
				} else {
					server.Kill()
				}
				s.Model.Release("one")
				waitSaid(s, shimOf(s), said+1)
				server = s.Start()
				job := ended(server, session, "one")
				if programtest.Text(job, "state") != "completed" || programtest.Text(job, "attempts") != "1" || ran(s, "one") != "one\n" {
					t.Errorf("ended as %v, wrote %q", job, ran(s, "one"))
				}
				if programtest.Text(job, "startedAt") != programtest.Text(before, "startedAt") {
					t.Errorf("begun %v, before %v", job["startedAt"], before["startedAt"])
				}
			})
		}
	}
}

// A resumed job can be canceled like any other, and its turn ends with it. The next instruction gets a separate turn.
func TestAReattachedJobIsCanceled(t *testing.T) {
	t.Parallel()
	s, server, session := onErrand(t)
	turn := programtest.Text(jobOf(server, session, "one"), "runningContext", "turnId")
	server.Kill()
	server = s.Start()
	server.WaitRuntime()
	errand(server, session, "two")
	job := jobOf(server, session, "one")
	if programtest.Text(job, "state") != "running" || programtest.Text(job, "runningContext", "turnId") != turn {
		t.Fatalf("gone on as %v, in turn %s before", job, turn)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/orchestrator/jobs/"+programtest.Text(job, "id")+"/cancel", nil)
	if job := ended(server, session, "one"); programtest.Text(job, "state") != "canceled" {
		t.Errorf("ended as %v", job)
	}
	s.Model.Release("two")
	if job := ended(server, session, "two"); programtest.Text(job, "state") != "completed" || ran(s, "one") != "one\n" ||
		ran(s, "two") != "two\n" {
		t.Errorf("the next one ended as %v, they wrote %q and %q", job, ran(s, "one"), ran(s, "two"))
	}
}

// The server is killed after it requested the job's turn from the frozen codex and before the response. The server
// finds the turn when codex runs again. If codex dies instead, there was no turn, and the job runs then.
func TestAJobWhoseTurnWasNotReported(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("codex dies %t", dies), func(t *testing.T) {
			t.Parallel()
			s := withErrands(t)
			server := s.Start()
			session := server.CreateSession(nil)
			errand(server, session, "first") // it creates and prepares the worker
			s.Model.Release("first")
			s.Model.Release("second")
			ended(server, session, "first")
			pid, f := server.SignalRuntime(syscall.SIGSTOP), shimOf(s)
			queueAnother(s, "first", "second")
			server.Eventually("turn/start is on its way to codex", func() bool {
				state, err := shim.Status(t.Context(), f)
				return err == nil && len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, "turn/start")
			})
			server.Kill()
			server = s.Start()
			signal := syscall.SIGCONT
			if dies {
				signal = syscall.SIGKILL
			}
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
			if job := ended(server, session, "second"); programtest.Text(job, "state") != "completed" || programtest.Text(job, "attempts") != "1" ||
				ran(s, "second") != "second\n" {
				t.Errorf("ended as %v, wrote %q", job, ran(s, "second"))
			}
		})
	}
}

// queueAnother stores a job like that of an errand, because no message can request one while codex is frozen.
func queueAnother(s *programtest.Site, like, name string) {
	s.T.Helper()
	err := dbtest.Connect(s.T, s.Store()).Update(s.T.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(s.T.Context(),
			`insert into jobs (id, type, version, project_id, source_session_id, priority, state, dedupe_mode, payload,
			attempts, max_attempts, created_at, cancel_reason, node_id, owner, lease_until)
			select $1, type, version, project_id, source_session_id, priority, 'queued', dedupe_mode, replace(payload, $2, $1), 0, max_attempts,
			created_at + 1, '', '', '', 0 from jobs where payload like '%' || $2 || '%'`, name, like)
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
}

// A job is canceled while no server runs, and its turn outlives it. The next instruction does not join that turn. It
// waits for the turn's end and gets a separate turn.
func TestAnInstructionWaitsForATurnLeftBehind(t *testing.T) {
	t.Parallel()
	s, server, session := onErrand(t)
	left := programtest.Text(jobOf(server, session, "one"), "runningContext", "turnId")
	server.Kill()
	err := dbtest.Connect(t, s.Store()).Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(),
			`update jobs set cancel_requested_at = 1, cancel_reason = 'api_cancel' where state = 'running'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	if job := ended(server, session, "one"); programtest.Text(job, "state") != "canceled" {
		t.Errorf("ended as %v", job)
	}
	s.Model.Release("two")
	errand(server, session, "two")
	server.Eventually("the next job runs", func() bool { return programtest.Text(jobOf(server, session, "two"), "state") == "running" })
	s.Model.Release("one")
	worker := programtest.Text(programtest.List(t, server, "/api/projects/session:"+session+"/agent-sessions")[0], "sessionId")
	if job := ended(server, session, "two"); programtest.Text(job, "state") != "completed" || ran(s, "two") != "two\n" {
		t.Errorf("ended as %v, wrote %q", job, ran(s, "two"))
	}
	for _, asked := range server.Entries(worker, "userMessage") {
		if strings.Contains(programtest.Text(asked, "content"), "echo two") == (programtest.Text(asked, "turnId") == left) &&
			strings.Contains(programtest.Text(asked, "content"), "echo") {
			t.Errorf("turn %s, the one left behind is %s, has %v", asked["turnId"], left, asked["content"])
		}
	}
}
