package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/queue"
)

// Browse lists jobs of all projects by filter, in full pages from the youngest on, with the number of jobs by state.
func TestBrowse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		q := s.open("n", []queue.Definition{{Type: "a", Run: done}, {Type: "b", Run: done}}) // this queue runs no jobs
		var all []string
		for i := range 6 {
			job := queue.Job{ID: fmt.Sprint("j-", i), Type: string("ab"[i%2]), Version: 1, ProjectID: fmt.Sprint("p-", i%3),
				Priority: queue.Background, State: []queue.State{queue.Queued, queue.Failed}[i%2], Payload: []byte(`{}`),
				MaxAttempts: 1, CreatedAt: int64(1000 + i/2)}
			s.imported(job)
			all = append(all, job.ID)
		}
		slices.Reverse(all)
		for name, c := range map[string]struct {
			want queue.Filter
			ids  []string
		}{
			"all":          {queue.Filter{}, all},
			"a state":      {queue.Filter{State: queue.Failed}, []string{"j-5", "j-3", "j-1"}},
			"a type":       {queue.Filter{Type: "a"}, []string{"j-4", "j-2", "j-0"}},
			"a project":    {queue.Filter{ProjectID: "p-1"}, []string{"j-4", "j-1"}},
			"a time":       {queue.Filter{Since: 1001, Before: 1002}, []string{"j-3", "j-2"}},
			"no session's": {queue.Filter{Session: "s"}, nil},
		} {
			var got []string
			for cursor := ""; ; {
				page, err := q.Browse(t.Context(), queue.Browse{Filter: c.want, Cursor: cursor, Limit: 2})
				if err != nil {
					t.Fatal(err)
				}
				for _, job := range page.Jobs {
					got = append(got, job.ID)
				}
				if name == "a state" && (page.Counts[queue.Queued] != 3 || page.Counts[queue.Failed] != 3) {
					t.Errorf("counts are %v", page.Counts)
				}
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if !slices.Equal(got, c.ids) {
				t.Errorf("%s: %q, want %q", name, got, c.ids)
			}
		}
		if _, err := q.Browse(t.Context(), queue.Browse{Cursor: "x|1", Limit: 2}); !errors.Is(err, queue.ErrBadCursor) {
			t.Errorf("a bad cursor: %v", err)
		}
	})
}

// An ended job runs again as a new one. A job that has not ended is refused, and so is a second concurrent repetition.
func TestAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		q := s.start("n", []queue.Definition{{Type: "a", Dedupe: queue.DropDuplicate, Run: g.run}})
		in := queue.Request{Type: "a", DedupeKey: pointer("k"), Payload: []byte(`{"x":1}`)}
		first := enqueue(t, q, in).Job
		g.waitBegun(t)
		if _, err := q.Again(t.Context(), first.ID); !errors.Is(err, queue.ErrNotOver) {
			t.Errorf("again while it runs: %v", err)
		}
		close(g.open)
		waitFinal(t, q, first.ID)
		if same := enqueue(t, q, in); same.Job.ID != first.ID {
			t.Errorf("a duplicate is %s, want %s", same.Job.ID, first.ID)
		}
		again, err := q.Again(t.Context(), first.ID)
		if err != nil || again.Status != queue.Enqueued || again.Job.ID == first.ID ||
			string(again.Job.Payload) != `{"x":1}` || again.Job.ProjectID != first.ProjectID {
			t.Fatalf("again is %+v, %v", again, err)
		}
		if job := waitFinal(t, q, again.Job.ID); job.State != queue.Completed {
			t.Errorf("again it is %s", job.State)
		}
		if _, err := q.Again(t.Context(), "unknown"); !errors.Is(err, queue.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
	})
}

// CancelAll cancels many jobs by filter and does not change ended ones.
func TestCancelAll(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		g := newGate()
		q := s.start("n", []queue.Definition{{Type: "a", Run: g.run}, {Type: "b", Run: g.run}})
		over := enqueue(t, q, queue.Request{Type: "a", ProjectID: "over"}).Job
		g.waitBegun(t)
		g.open <- struct{}{}
		waitFinal(t, q, over.ID)
		runs := enqueue(t, q, queue.Request{Type: "a"}).Job
		g.waitBegun(t)
		waits, other := enqueue(t, q, queue.Request{Type: "a"}).Job, enqueue(t, q, queue.Request{Type: "b"}).Job
		canceled, more, err := q.CancelAll(t.Context(), queue.Filter{Type: "a"}, "why")
		if err != nil || more || len(canceled) != 2 {
			t.Fatalf("canceled are %v, more %t, %v", canceled, more, err)
		}
		for _, id := range []string{runs.ID, waits.ID} {
			if job := waitFinal(t, q, id); job.State != queue.Canceled {
				t.Errorf("job %s is %s", id, job.State)
			}
		}
		close(g.open)
		for _, id := range []string{over.ID, other.ID} {
			if job := waitFinal(t, q, id); job.State != queue.Completed {
				t.Errorf("job %s is %s", id, job.State)
			}
		}
	})
}

// imported stores a job as it is.
func (s *store) imported(job queue.Job) {
	s.t.Helper()
	if err := s.db.Update(s.t.Context(), func(tx database.Tx) error {
		_, err := queue.Import(s.t.Context(), tx, job, "n")
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
}
