package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
)

// A reconciliation that fails when its job ends is owed. It runs once, as soon as it can, possibly in another process
// after a kill; the job is kept until then.
func TestFailedReconciliationIsOwed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		var broken atomic.Bool
		broken.Store(true)
		reconcile := func(_ context.Context, _ database.Tx, job queue.Job) ([]journal.Event, error) {
			if broken.Load() {
				return nil, errors.New("broken")
			}
			return []journal.Event{
				{Type: "reconciled",
					Payload: json.RawMessage(`{"jobId":"` + job.ID + `","state":"` + string(job.State) + `"}`)}}, nil
		}
		g := newGate()
		definitions := []queue.Definition{{Type: "work", Run: done, OnTerminal: reconcile},
			{Type: "held", Run: g.run, OnTerminal: reconcile}}
		keepOne := func(o *queue.Options) { o.Policy.Retention = 1 }
		deadJournal := startJournal(t, s.db)
		first := s.openOn(deadJournal, "n", definitions, keepOne)
		if err := first.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		held := enqueue(t, first, queue.Request{Type: "held", ProjectID: "q", MaxAttempts: 1}).Job.ID
		g.waitBegun(t)
		var ids []string
		for range 3 {
			ids = append(ids, enqueue(t, first, queue.Request{Type: "work", ProjectID: "p"}).Job.ID)
			if job := waitFinal(t, first, ids[len(ids)-1]); job.State != queue.Completed {
				t.Fatalf("ended %s", job.State)
			}
		}
		// Without its journal the process can no longer change anything, as if it had been killed.
		if err := deadJournal.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		ignorant := s.start("m", nil, keepOne) // a node that does not know the type
		second := s.start("n", definitions, keepOne)
		ids = append(ids, held)
		if job := waitFinal(t, second, held); job.State != queue.Failed {
			t.Fatalf("the held job ended %s", job.State)
		}
		for _, id := range ids {
			if slices.Contains(s.names(id), "reconciled") {
				t.Fatalf("job %s is reconciled by a broken hook", id)
			}
		}
		broken.Store(false)
		for _, id := range ids {
			if event := s.waitEvent(id, "reconciled"); event["state"] == "running" || event["state"] == "queued" {
				t.Errorf("reconciled as %v", event["state"])
			}
		}
		stop(t, ignorant) // so that it does not end the next jobs first
		// No debt remains: more jobs, and more time than the retry delay, cause no second reconciliation.
		for range 2 {
			ids = append(ids, enqueue(t, second, queue.Request{Type: "work", ProjectID: "p"}).Job.ID)
			waitFinal(t, second, ids[len(ids)-1])
		}
		<-time.After(1200 * time.Millisecond)
		for _, id := range ids {
			if n := len(slices.DeleteFunc(s.names(id), func(name string) bool { return name != "reconciled" })); n != 1 {
				t.Errorf("job %s is reconciled %d times", id, n)
			}
		}
		if jobs, err := second.Jobs(t.Context(), "p", ""); err != nil || len(jobs) > 2 {
			t.Errorf("%d jobs are kept (%v)", len(jobs), err)
		}
		close(g.open)
	})
}
