package queue_test

import (
	"context"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
)

// A job about a session runs on the node that owns the session, regardless of which node queued it; any node runs the
// others.
func TestAJobIsRunWhereItsSessionIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *store) {
		s.session("of-one", "one")
		one, two := newGate(), newGate()
		first := s.start("two", []queue.Definition{{Type: "work", Run: two.run}})
		left := enqueue(t, first, queue.Request{Type: "work", ProjectID: "p", SourceSessionID: pointer("of-one")})
		free := enqueue(t, first, queue.Request{Type: "work", ProjectID: "p"})
		gone := enqueue(t, first, queue.Request{Type: "work", ProjectID: "q", SourceSessionID: pointer("deleted")})
		// Younger jobs pass a job that waits for its node.
		began := map[string]bool{two.waitBegun(t): true, two.waitBegun(t): true}
		if !began[free.Job.ID] || !began[gone.Job.ID] {
			t.Errorf("node two began %v", began)
		}
		close(two.open)
		waitFinal(t, first, free.Job.ID)
		waitFinal(t, first, gone.Job.ID)
		if job, err := first.Job(t.Context(), left.Job.ID); err != nil || job.State != queue.Queued {
			t.Errorf("the job of node one is %s (%v)", job.State, err)
		}

		close(one.open)
		second := s.start("one", []queue.Definition{{Type: "work", Run: one.run}})
		if id := one.waitBegun(t); id != left.Job.ID {
			t.Errorf("node one began %s", id)
		}
		if job := waitFinal(t, second, left.Job.ID); job.State != queue.Completed {
			t.Errorf("it ended %s", job.State)
		}
	})
}

// session stores a session of a node, with the columns that the queue reads.
func (s *store) session(id, node string) {
	s.t.Helper()
	_, err := s.journal.Commit(s.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx,
			`insert into sessions (id, runtime, runtime_session_id, node_id, title, cwd, source, model_provider, thread,
			system_owned, archived, created_at, updated_at) values ($1, 'codex', $1, $2, '', '', '', '', 'null', 0, 0, 0, 0)`,
			id, node)
		return nil, err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
