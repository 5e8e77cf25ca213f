package jobs_test

import (
	"errors"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/queue"
	"harness/queue/jobs"
)

// A worker starts under its agent's start policy, is prepared under the prepare policy, and instructed under the
// instruct policy. A changed policy also applies to existing workers.
func TestWorkersRunUnderTheirAgentsPolicy(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		policy := jobs.AgentPolicy{
			Runtime: "codex", Model: "m", Start: jobs.TurnPolicy{ApprovalPolicy: "untrusted", NetworkAccess: "restricted",
				FilesystemSandbox: "read-only"},
			Prepare: jobs.TurnPolicy{ApprovalPolicy: "on-request", NetworkAccess: "restricted",
				FilesystemSandbox: "workspace-write", Effort: "high"},
			Instruct: jobs.TurnPolicy{ApprovalPolicy: "never", NetworkAccess: "enabled", FilesystemSandbox: "danger-full-access",
				Effort: "low"},
		}
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) { f.policy = policy })
		if job := b.instruct(
			object{"bootstrapInstruction": object{"key": "k", "instructionText": "Boot."}}); job.State != queue.Completed {
			t.Fatalf("ended as %s %s", job.State, failure(job))
		}
		made := b.sessions.created[0]
		if made.Runtime != "codex" || *made.Model != "m" || *made.ApprovalPolicy != "untrusted" ||
			*made.NetworkAccess != "restricted" || *made.FilesystemSandbox != "read-only" {
			t.Errorf("made %+v", made)
		}
		sent := func(n int) jobs.TurnPolicy {
			w := b.sessions.instructions[n]
			return jobs.TurnPolicy{ApprovalPolicy: *w.ApprovalPolicy, NetworkAccess: *w.NetworkAccess,
				FilesystemSandbox: *w.FilesystemSandbox, Effort: w.Effort}
		}
		if sent(0) != policy.Prepare || sent(1) != policy.Prepare || sent(2) != policy.Instruct ||
			*b.sessions.instructions[2].Model != "m" {
			t.Errorf("orientation %+v, bootstrap %+v, instruction %+v", sent(0), sent(1), sent(2))
		}
		b.sessions.mu.Lock()
		b.sessions.policy.Instruct.FilesystemSandbox = "read-only"
		b.sessions.mu.Unlock()
		if b.instruct(nil); sent(3).FilesystemSandbox != "read-only" {
			t.Errorf("after the policy was narrowed: %+v", sent(3))
		}
	})
}

// An agent whose runtime changed gets a worker on the new runtime; the old worker is removed.
func TestAWorkerFollowsItsAgentsRuntime(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) { f.policy.Runtime = "codex" })
		for n, want := range []struct{ runtime, session string }{{"codex", "worker-1"}, {"codex", "worker-1"},
			{"other", "worker-2"}, {"other", "worker-2"}} {
			b.sessions.mu.Lock()
			b.sessions.policy.Runtime = want.runtime
			b.sessions.mu.Unlock()
			if job := b.instruct(nil); job.State != queue.Completed || *job.ThreadID != want.session {
				t.Fatalf("job %d ended as %s in %s, want it in %s", n, job.State, *job.ThreadID, want.session)
			}
		}
		b.sessions.mu.Lock()
		defer b.sessions.mu.Unlock()
		if made := b.sessions.created; len(made) != 2 || made[1].Runtime != "other" || !b.sessions.gone["worker-1"] ||
			b.sessions.gone["worker-2"] {
			t.Errorf("made %+v, deleted %v", made, b.sessions.gone)
		}
	})
}

// With an unreadable policy, no worker is created and none gets a prompt. There is no retry, whatever text the reason
// quotes.
func TestARefusedWorkerIsNotTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) {
			f.refusal = errors.New("/agents/timeout/agent.config.json: turnTimeoutMs must be a whole number")
		})
		job := b.instruct(nil)
		if job.State != queue.Failed || job.Attempts != 1 || !strings.Contains(failure(job), "turnTimeoutMs must be") {
			t.Errorf("ended as %s %q after %d attempts", job.State, failure(job), job.Attempts)
		}
		asked, err := b.suggester.Request(t.Context(), jobs.SuggestPayload{ProjectID: "p", SourceSessionID: source})
		if err != nil {
			t.Fatal(err)
		}
		if job := b.wait(asked.JobID); job.State != queue.Failed || job.Attempts != 1 ||
			!strings.Contains(failure(job), "turnTimeoutMs must be") {
			t.Errorf("a suggestion ended as %s %q after %d attempts", job.State, failure(job), job.Attempts)
		}
		if len(b.sessions.created) != 0 || len(b.sessions.instructions) != 0 {
			t.Errorf("made %+v, sent %+v", b.sessions.created, b.sessions.instructions)
		}
	})
}
