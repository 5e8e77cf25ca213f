package jobs_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/sessiontest"
	"harness/queue"
	"harness/queue/jobs"
	"harness/runtime/runtimetest/scripted"
)

func TestMain(m *testing.M) {
	if !scripted.Play() {
		os.Exit(m.Run())
	}
}

// A job of an agent whose runtime is not codex runs its turn in a worker of that runtime, what the worker wants to do
// is decided as its policy says, and the job tells what it said.
func TestAJobRunsInTheScriptedAgent(t *testing.T) {
	sessiontest.Each(t, func(t *testing.T, s *sessiontest.Site) {
		level := jobs.TurnPolicy{ApprovalPolicy: "untrusted", NetworkAccess: "enabled", FilesystemSandbox: "danger-full-access"}
		policies := func(string) (jobs.AgentPolicy, error) {
			return jobs.AgentPolicy{Runtime: scripted.Name, Start: level, Prepare: level, Instruct: level}, nil
		}
		workers := jobs.NewWorkers(jobs.WorkersOptions{DB: s.DB, Journal: s.Journal, Sessions: s, NodeID: "node", Policies: policies, Logger: zerolog.Nop()})
		q := queue.New(queue.Options{Journal: s.Journal, DB: s.DB, NodeID: "node", Logger: zerolog.Nop(), Definitions: jobs.Definitions(jobs.Options{
			Sessions: s, Journal: s.Journal, Workers: workers, Suggestions: jobs.NewSuggestions(s.DB, s.Journal, s), SuggestWait: time.Minute,
			Timing: jobs.Timing{Turn: patience, Poll: 20 * time.Millisecond, IncludeTurns: patience, UntrustedTerminal: patience, EmptyTurn: patience},
			Logger: zerolog.Nop()})})
		s.Start(q)
		project, err := s.CreateProject(t.Context(), "P", nil)
		if err != nil {
			t.Fatal(err)
		}
		source := s.NewSession()
		file := s.Path("by the worker")
		for instruction, want := range map[string]string{
			"REPLY[all is well]":        `{"status":"ok","outputText":"all is well"}`,
			"RUN[touch '" + file + "']": `{"status":"ok","outputText":"then not: "}`,
		} {
			payload, err := json.Marshal(object{"agent": "supervisor", "jobKind": "review", "projectId": project.ID, "sourceSessionId": source, "threadId": source,
				"turnId": "t-1", "instructionText": instruction})
			if err != nil {
				t.Fatal(err)
			}
			queued, err := q.Enqueue(t.Context(), jobs.NewRequest(jobs.TypeAgentInstruction, project.ID, nil, payload))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			job, err := q.WaitForTerminal(ctx, queued.Job.ID)
			cancel()
			if err != nil || job.State != queue.Completed || string(job.Result) != want {
				t.Fatalf("%s ended as %+v with %s (%v)", instruction, job, job.Result, err)
			}
			worker, err := s.Lookup(t.Context(), *job.ThreadID)
			if err != nil || worker.Runtime != scripted.Name || !worker.SystemOwned {
				t.Errorf("it ran in %+v (%v)", worker, err)
			}
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("a worker's command ran that nobody allowed")
		}
	})
}
