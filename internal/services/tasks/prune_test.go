package tasks_test

import (
	"testing"
	"time"

	"harness/internal/platform/journal"
	"harness/internal/services/tasks"
)

// Pruning removes the oldest ended tasks beyond the retention, and never an unfinished one.
func TestTasksArePruned(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		session := s.NewSession()
		for _, id := range []string{"one", "two", "three"} {
			s.submit(session, id, "REPLY["+id+"]")
			s.over(session, id)
		}
		s.submit(session, "open", "HOLD[h]")
		prune := func(keep journal.Retention, at time.Time) (went int64) {
			t.Helper()
			err := tasks.Prune(t.Context(), journal.Pruner{Journal: s.Journal, Now: at,
				Pruned: func(_ string, rows int64) { went += rows }}, keep)
			if err != nil {
				t.Fatal(err)
			}
			return went
		}
		if went := prune(journal.Retention{}, time.Now().Add(time.Hour)); went != 0 {
			t.Errorf("without a bound %d went", went)
		}
		if went := prune(journal.Retention{Age: time.Hour}, time.Now()); went != 0 {
			t.Errorf("%d went before their time", went)
		}
		if went := prune(journal.Retention{Age: time.Minute}, time.Now().Add(time.Hour)); went != 3 {
			t.Errorf("%d of three went", went)
		}
		if left, err := s.tasks.List(t.Context(), session, 10); err != nil || len(left) != 1 || left[0].ID != "open" {
			t.Errorf("left is %+v, %v", left, err)
		}
	})
}
