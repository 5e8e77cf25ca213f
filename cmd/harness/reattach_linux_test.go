package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/database"
	"harness/internal/dbtest"
	"harness/runtime/process/shim"
)

// lineErrand queues a job for each message that begins with "errand NAME": its worker writes one line into NAME.txt and
// then waits for NAME.
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

// withErrands makes a site with the extension; its workers need no approvals.
func withErrands(t *testing.T, options ...siteOption) *site {
	t.Helper()
	s := newSite(t, options...)
	s.addErrands()
	return s
}

func (s *site) addErrands() {
	s.t.Helper()
	s.extension("errand", map[string]string{
		"events.js":         lineErrand,
		"agent.config.json": `{"turnPolicy":{"sandbox":"danger-full-access","approvalPolicy":"never"}}`,
	})
}

// onErrand is a server in the middle of the errand "one" of a session.
func onErrand(t *testing.T, options ...siteOption) (s *site, server *instance, session string) {
	t.Helper()
	s = withErrands(t, options...)
	server = s.start()
	session = server.createSession(nil)
	server.errand(session, "one")
	s.held("one")
	return s, server, session
}

func (i *instance) errand(session, name string) { i.send(session, "errand "+name+" MOCK_REPLY[ok]") }

// job is the errand's job. Connections of the store that were ended while it refused may each cost a read.
func (i *instance) job(session, name string) object {
	i.t.Helper()
	var job object
	i.eventually("the job is queued", func() bool {
		status, answer := i.call(http.MethodGet, "/api/projects/session:"+session+"/orchestrator/jobs", nil)
		if status == http.StatusServiceUnavailable {
			return false
		}
		if found := jobsOf(answer, name); len(found) == 1 {
			job = found[0]
		}
		return job != nil
	})
	return job
}

// ended waits for the end of an errand's job.
func (i *instance) ended(session, name string) object {
	i.t.Helper()
	var job object
	i.eventually("the job has ended", func() bool {
		job = i.job(session, name)
		return text(job, "completedAt") != ""
	})
	return job
}

// ran are the lines an errand wrote.
func (s *site) ran(name string) string {
	s.t.Helper()
	lines, err := os.ReadFile(filepath.Join(s.workspace, name+".txt"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(lines)
}

func (s *site) held(name string) {
	s.t.Helper()
	if err := s.model.WaitHeld(s.t.Context(), name); err != nil {
		s.t.Fatal(err)
	}
}

// The server is killed, or stopped for an upgrade, while a job's turn runs: the next one goes on with that turn as the
// same attempt, also when it ends while no server is there, and the instruction runs once.
func TestAJobGoesOnWithItsTurn(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s kept %t", engine, kept), func(t *testing.T) {
				t.Parallel()
				s, server, session := onErrand(t, withEngine(engine), withEnv("HARNESS_KEEP_RUNTIMES=true"))
				before := server.job(session, "one")
				said := s.said(s.shim())
				if kept {
					server.stop()
				} else {
					server.kill()
				}
				s.model.Release("one")
				s.waitSaid(s.shim(), said+1)
				server = s.start()
				job := server.ended(session, "one")
				if text(job, "state") != "completed" || text(job, "attempts") != "1" || s.ran("one") != "one\n" {
					t.Errorf("ended as %v, wrote %q", job, s.ran("one"))
				}
				if text(job, "startedAt") != text(before, "startedAt") {
					t.Errorf("begun %v, before %v", job["startedAt"], before["startedAt"])
				}
			})
		}
	}
}

// A job that was gone on with is canceled like any other, and its turn ends with it; the next instruction has a turn of
// its own.
func TestAReattachedJobIsCanceled(t *testing.T) {
	t.Parallel()
	s, server, session := onErrand(t)
	turn := text(server.job(session, "one"), "runningContext", "turnId")
	server.kill()
	server = s.start()
	server.waitRuntime()
	server.errand(session, "two")
	job := server.job(session, "one")
	if text(job, "state") != "running" || text(job, "runningContext", "turnId") != turn {
		t.Fatalf("gone on as %v, in turn %s before", job, turn)
	}
	server.want(http.StatusOK, http.MethodPost, "/api/orchestrator/jobs/"+text(job, "id")+"/cancel", nil)
	if job := server.ended(session, "one"); text(job, "state") != "canceled" {
		t.Errorf("ended as %v", job)
	}
	s.model.Release("two")
	if job := server.ended(session, "two"); text(job, "state") != "completed" || s.ran("one") != "one\n" ||
		s.ran("two") != "two\n" {
		t.Errorf("the next one ended as %v, they wrote %q and %q", job, s.ran("one"), s.ran("two"))
	}
}

// The server is killed after it asked codex, which is frozen, for the job's turn and before it heard of one: the turn
// is found when codex goes on; when codex dies instead there was none, and the job runs then.
func TestAJobWhoseTurnNobodyHeardOf(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		t.Run(fmt.Sprintf("codex dies %t", dies), func(t *testing.T) {
			t.Parallel()
			s := withErrands(t)
			server := s.start()
			session := server.createSession(nil)
			server.errand(session, "first") // makes and prepares the worker
			s.model.Release("first")
			s.model.Release("second")
			server.ended(session, "first")
			pid, f := server.runtimePID(), s.shim()
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			s.queueAnother("first", "second")
			server.eventually("turn/start is on its way to codex", func() bool {
				state, err := shim.Status(t.Context(), f)
				return err == nil && len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, "turn/start")
			})
			server.kill()
			server = s.start()
			signal := syscall.SIGCONT
			if dies {
				signal = syscall.SIGKILL
			}
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
			if job := server.ended(session, "second"); text(job, "state") != "completed" || text(job, "attempts") != "1" ||
				s.ran("second") != "second\n" {
				t.Errorf("ended as %v, wrote %q", job, s.ran("second"))
			}
		})
	}
}

// queueAnother stores a job like that of an errand: with codex frozen no message can ask for one.
func (s *site) queueAnother(like, name string) {
	s.t.Helper()
	err := dbtest.Connect(s.t, s.store()).Update(s.t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(s.t.Context(),
			`insert into jobs (id, type, version, project_id, source_session_id, priority, state, dedupe_mode, payload,
			attempts, max_attempts, created_at, cancel_reason, node_id, owner, lease_until)
			select $1, type, version, project_id, source_session_id, priority, 'queued', dedupe_mode, replace(payload, $2, $1), 0, max_attempts,
			created_at + 1, '', '', '', 0 from jobs where payload like '%' || $2 || '%'`, name, like)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// A turn that outlived its job, canceled while no server was there, is not what the next instruction goes into: that
// waits for its end and has a turn of its own.
func TestAnInstructionWaitsForATurnLeftBehind(t *testing.T) {
	t.Parallel()
	s, server, session := onErrand(t)
	left := text(server.job(session, "one"), "runningContext", "turnId")
	server.kill()
	err := dbtest.Connect(t, s.store()).Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(),
			`update jobs set cancel_requested_at = 1, cancel_reason = 'api_cancel' where state = 'running'`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server = s.start()
	if job := server.ended(session, "one"); text(job, "state") != "canceled" {
		t.Errorf("ended as %v", job)
	}
	s.model.Release("two")
	server.errand(session, "two")
	server.eventually("the next job runs", func() bool { return text(server.job(session, "two"), "state") == "running" })
	s.model.Release("one")
	worker := text(list(t, server, "/api/projects/session:"+session+"/agent-sessions")[0], "sessionId")
	if job := server.ended(session, "two"); text(job, "state") != "completed" || s.ran("two") != "two\n" {
		t.Errorf("ended as %v, wrote %q", job, s.ran("two"))
	}
	for _, asked := range server.entries(worker, "userMessage") {
		if strings.Contains(text(asked, "content"), "echo two") == (text(asked, "turnId") == left) &&
			strings.Contains(text(asked, "content"), "echo") {
			t.Errorf("turn %s, the one left behind is %s, has %v", asked["turnId"], left, asked["content"])
		}
	}
}
