package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
)

// The next start settles the jobs that a crashed process left, with an event and the definition's reconciliation for
// every job that ends.
func TestRecoveryAtStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		before := []queue.Definition{{Type: "again", Run: g.run}, {Type: "last", Run: g.run}, {Type: "strict", Run: g.run},
			{Type: "block", Run: g.run}}
		deadJournal := startJournal(t, s.db)
		crashed := s.openOn(deadJournal, "n", before, func(o *queue.Options) { o.Policy.Concurrency = 3; o.Lease = time.Hour })
		if err := crashed.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		for kind, attempts := range map[string]int{"again": 2, "last": 1, "block": 1} {
			ids[kind] = enqueue(t, crashed, queue.Request{Type: kind, ProjectID: kind, MaxAttempts: attempts}).Job.ID
			g.waitBegun(t)
		}
		ids["strict"] = enqueue(t, crashed, queue.Request{Type: "strict", ProjectID: "strict"}).Job.ID
		// Without its journal the process can no longer change anything, as if it had been killed.
		if err := deadJournal.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		reconciled := func(_ context.Context, _ database.Tx, job queue.Job) ([]journal.Event, error) {
			return []journal.Event{{Type: "reconciled", Payload: json.RawMessage(`{"jobId":"` + job.ID + `"}`)}}, nil
		}
		again := s.start("n",
			[]queue.Definition{{Type: "again", Run: done}, {Type: "last", Run: done, OnTerminal: reconciled},
				{Type: "strict", Run: done, OnTerminal: reconciled, Validate: func(json.RawMessage) (json.RawMessage, error) {
					return nil, errors.New("a is missing")
				}}})
		for kind, want := range map[string]struct {
			state  queue.State
			reason string
			events []string
		}{
			"again": {queue.Completed, "", []string{"orchestrator_job_queued", "orchestrator_job_started",
				"orchestrator_job_started", "orchestrator_job_completed"}},
			"last": {queue.Failed, "recovery_max_attempts_exceeded",
				[]string{"orchestrator_job_queued", "orchestrator_job_started", "reconciled", "orchestrator_job_failed"}},
			"strict": {queue.Failed, "recovery_invalid_payload:a is missing",
				[]string{"orchestrator_job_queued", "reconciled", "orchestrator_job_failed"}},
		} {
			job := waitFinal(t, again, ids[kind])
			reason := ""
			if job.Error != nil {
				reason = *job.Error
			}
			if job.State != want.state || reason != want.reason || !reflect.DeepEqual(s.names(job.ID), want.events) {
				t.Errorf("%s: %s %q, events %v", kind, job.State, reason, s.names(job.ID))
			}
		}
		close(g.open)
	})
}

// A process that does not renew for longer than its lease loses its job to another node, which refuses its later
// results.
func TestLeaseExpiryAndFencing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		deadJournal := startJournal(t, s.db)
		first := s.openOn(deadJournal, "silent", []queue.Definition{{Type: "work", Run: g.run}}, func(o *queue.Options) {
			o.Lease = 2 * time.Second
		})
		if err := first.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		job := enqueue(t, first, queue.Request{Type: "work"}).Job
		g.waitBegun(t)
		// Without its journal the process can neither renew its lease nor store an outcome.
		if err := deadJournal.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := s.start("other", []queue.Definition{{Type: "work", Run: done}})
		ended := waitFinal(t, second, job.ID)
		if ended.State != queue.Completed || ended.Attempts != 2 {
			t.Errorf("ended as %+v", ended)
		}
		close(g.open)
	})
}

// The owner renews its lease: a job that runs for several leases is not claimed by another node.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		definitions := []queue.Definition{{Type: "work", Run: g.run}}
		short := func(o *queue.Options) { o.Lease = 2 * time.Second }
		first := s.start("a", definitions, short)
		job := enqueue(t, first, queue.Request{Type: "work"}).Job
		g.waitBegun(t)
		other := s.openOn(startJournal(t, s.db), "b", definitions, short)
		if err := other.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second) // two and a half leases: this test depends on real time
		close(g.open)
		if ended := waitFinal(t, other, job.ID); ended.State != queue.Completed || ended.Attempts != 1 {
			t.Errorf("ended as %+v", ended)
		}
	})
}
