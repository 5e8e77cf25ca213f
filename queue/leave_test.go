package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"harness/queue"
)

// A stop leaves jobs to the next process. A job with a checkpoint stays running and resumes there as the same attempt;
// a job without one is queued again. Neither loses an attempt.
func TestAStopLeavesJobsToTheNextProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		const several = 50 // so that some handlers return before the stop reaches the next run
		begun := make(chan struct{}, several+1)
		wait := func(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
			if run.Job().Type == "somewhere" {
				if err := run.SetCheckpoint(ctx, json.RawMessage(`{"at":7}`)); err != nil {
					return nil, err
				}
			}
			begun <- struct{}{}
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, queue.ErrDetached) {
				t.Errorf("ended by %v", cause)
			}
			return nil, context.Cause(ctx)
		}
		readPlace := func(_ context.Context, run *queue.Run) (json.RawMessage, error) {
			if run.Checkpoint() == nil {
				return json.RawMessage(`"from the start"`), nil
			}
			return run.Checkpoint(), nil
		}
		types := func(run func(context.Context, *queue.Run) (json.RawMessage, error)) []queue.Definition {
			return []queue.Definition{{Type: "somewhere", Run: run, Resumable: true},
				{Type: "nowhere", Run: run, Resumable: true}}
		}
		first := s.start("n", types(wait), func(o *queue.Options) {
			o.LeaveRunning, o.Drain, o.Policy.Concurrency = true, 1, several+1
		})
		ids := map[string]string{}
		kinds := map[string]string{"nowhere": "nowhere"}
		for n := range several {
			kinds[fmt.Sprintf("somewhere %d", n)] = "somewhere"
		}
		for project, kind := range kinds {
			ids[project] = enqueue(t, first, queue.Request{Type: kind, ProjectID: project, MaxAttempts: 1}).Job.ID
			<-begun
		}
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		states := map[string]queue.State{"somewhere": queue.Running, "nowhere": queue.Queued}
		for project, kind := range kinds {
			if job, err := first.Job(t.Context(), ids[project]); err != nil || job.State != states[kind] ||
				job.CancelRequestedAt != nil {
				t.Errorf("%s is left as %s, %v", project, job.State, err)
			}
		}
		next := s.start("n", types(readPlace))
		results := map[string]string{"somewhere": `{"at":7}`, "nowhere": `"from the start"`}
		for project, kind := range kinds {
			if job := waitFinal(t, next, ids[project]); job.State != queue.Completed || job.Attempts != 1 ||
				string(job.Result) != results[kind] {
				t.Errorf("%s ended as %s after %d attempts with %s", project, job.State, job.Attempts, job.Result)
			}
		}
	})
}
