package jobs_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/services/session"
	"harness/internal/services/session/manager"
	"harness/queue"
	"harness/queue/jobs"
	"harness/tests/polling"
	"harness/tests/runtimetest/scripted"
	"harness/tests/sessiontest"
)

func TestMain(m *testing.M) { scripted.Main(m) }

// jobsIn runs a queue of jobs whose workers are the scripted agent's, and returns a function that enqueues an
// instruction.
func jobsIn(t *testing.T, s *sessiontest.Site) (q *queue.Queue, instruct func(instruction string) (jobID string)) {
	t.Helper()
	level := jobs.TurnPolicy{ApprovalPolicy: "untrusted", NetworkAccess: "enabled",
		FilesystemSandbox: "danger-full-access"}
	policies := func(string) (jobs.AgentPolicy, error) {
		return jobs.AgentPolicy{Runtime: scripted.Name, Start: level, Prepare: level, Instruct: level}, nil
	}
	sessions := jobs.Sessions{Transcripts: s, SessionStore: s, Turns: s, Conversations: s}
	workers := jobs.NewWorkers(jobs.WorkersOptions{DB: s.DB, Journal: s.Journal, Sessions: sessions, NodeID: "node",
		Policies: policies, Logger: zerolog.Nop()})
	q = queue.New(queue.Options{Journal: s.Journal, DB: s.DB, NodeID: "node", Logger: zerolog.Nop(),
		Definitions: jobs.Definitions(jobs.Options{
			Sessions: sessions, Journal: s.Journal, Workers: workers, Suggestions: jobs.NewSuggestions(s.DB, s.Journal, s, nil),
			SuggestWait: time.Minute, Timing: jobs.Timing{Turn: patience, Poll: 20 * time.Millisecond, IncludeTurns: patience,
				UntrustedTerminal: patience, EmptyTurn: patience},
			Logger: zerolog.Nop()})})
	s.Start(q)
	project, err := s.CreateProject(t.Context(), "P", nil)
	if err != nil {
		t.Fatal(err)
	}
	source := s.NewSession()
	return q, func(instruction string) string {
		t.Helper()
		payload, err := json.Marshal(object{"agent": "supervisor", "jobKind": "review", "projectId": project.ID,
			"sourceSessionId": source, "threadId": source, "turnId": "t-1", "instructionText": instruction})
		if err != nil {
			t.Fatal(err)
		}
		queued, err := q.Enqueue(t.Context(), jobs.NewRequest(jobs.TypeAgentInstruction, project.ID, nil, payload))
		if err != nil {
			t.Fatal(err)
		}
		return queued.Job.ID
	}
}

// ended waits until a job ends and returns it.
func ended(t *testing.T, q *queue.Queue, jobID string) queue.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	job, err := q.WaitForTerminal(ctx, jobID)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// eventually waits for a condition that no event announces.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !polling.Until(patience, holds) {
		t.Fatalf("never: %s", what)
	}
}

// A job waits for a runtime at capacity until one of its turns ends, and then runs. RA-28
func TestAJobWaitsForARuntimeThatIsBusy(t *testing.T) {
	one := func(o *manager.Options) {
		o.RuntimeLimits = func(string) session.RuntimeLimits { return session.RuntimeLimits{Turns: 1} }
	}
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		q, instruct := jobsIn(t, s)
		busy := s.NewSession()
		turn := s.Say(busy, "HOLD[busy]")
		job := instruct("REPLY[all is well]")
		eventually(t, "the job waits", func() bool { return s.Load(scripted.Name).Waiting == 1 })
		if err := s.Agent.Release("busy"); err != nil {
			t.Fatal(err)
		}
		s.Ended(busy, turn)
		if job := ended(t, q, job); job.State != queue.Completed ||
			string(job.Result) != `{"status":"ok","outputText":"all is well"}` {
			t.Errorf("it ended as %+v with %s", job, job.Result)
		}
	}, one)
}

// A job of an agent whose runtime is not codex runs its turn in a worker of that runtime. The worker's
// requests are decided by its policy, and the job's result has the worker's text.
func TestAJobRunsInTheScriptedAgent(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		q, instruct := jobsIn(t, s)
		file := s.Path("by the worker")
		for instruction, want := range map[string]string{
			"REPLY[all is well]":        `{"status":"ok","outputText":"all is well"}`,
			"RUN[touch '" + file + "']": `{"status":"ok","outputText":"then not: "}`,
		} {
			job := ended(t, q, instruct(instruction))
			if job.State != queue.Completed || string(job.Result) != want {
				t.Fatalf("%s ended as %+v with %s", instruction, job, job.Result)
			}
			worker, err := s.Lookup(t.Context(), *job.ThreadID)
			if err != nil || worker.Runtime != scripted.Name || !worker.SystemOwned {
				t.Errorf("it ran in %+v (%v)", worker, err)
			}
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("a worker's command ran without approval")
		}
	})
}
