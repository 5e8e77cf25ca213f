package jobs_test

import (
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/queue"
	"harness/queue/jobs"
)

// While a worker runs, the job reads the store when the turn may have ended, not with every delta of the turn.
func TestATurnIsNotReadWithEachOfItsEvents(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(o *jobs.Options, f *fakeSessions) {
			o.Timing.Poll = time.Hour
			f.answer = func(_ <-chan struct{}, message string) (string, error) {
				if message == "Do it." {
					for range 200 {
						f.publish("worker-1", "item-1")
					}
				}
				return "READY", nil
			}
		})
		if job := b.instruct(nil); job.State != queue.Completed {
			t.Fatalf("ended as %s: %s", job.State, failure(job))
		}
		b.sessions.mu.Lock()
		defer b.sessions.mu.Unlock()
		// Two turns, each read when it started and when it ended.
		for _, kind := range []string{"turn", "requests", "entries"} {
			if n := b.sessions.reads[kind]; n < 1 || n > 8 {
				t.Errorf("%d reads of the %s", n, kind)
			}
		}
	})
}

// A worker's session is deleted after its last allowed turn. The next job gets a new one, which gets the
// orientation again.
func TestAWorkersSessionHasABoundedNumberOfTurns(t *testing.T) {
	each(t, func(t *testing.T, db *database.DB) {
		b := newBench(t, db, func(_ *jobs.Options, f *fakeSessions) { f.maxTurns = 3 })
		// each session is prepared in a separate turn
		for n, want := range []string{"worker-1", "worker-1", "worker-2", "worker-2", "worker-3"} {
			if job := b.instruct(nil); job.State != queue.Completed || *job.ThreadID != want {
				t.Fatalf("job %d ended as %s in %s, want it in %s", n, job.State, *job.ThreadID, want)
			}
		}
		b.sessions.mu.Lock()
		defer b.sessions.mu.Unlock()
		if !b.sessions.gone["worker-1"] || !b.sessions.gone["worker-2"] || b.sessions.gone["worker-3"] {
			t.Errorf("deleted %v", b.sessions.gone)
		}
		workers, err := b.workers.WorkerSessions(t.Context(), "p")
		if err != nil || len(workers) != 1 || workers[0].SessionID != "worker-3" {
			t.Errorf("workers %v, %v", workers, err)
		}
	})
}
