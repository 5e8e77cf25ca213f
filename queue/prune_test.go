package queue

import (
	"maps"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// Ended jobs are removed by age and by number, oldest first. Open jobs and jobs with an owed reconciliation stay, and
// so do the lanes of their projects.
func TestEndedJobsGo(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{})
		lifecycletest.Run(t, log)
		now := time.Now()
		ago := func(days int) *int64 { at := now.Add(-time.Duration(days) * 24 * time.Hour).UnixMilli(); return &at }
		jobs := []Job{
			{ID: "old", ProjectID: "left", State: Completed, CompletedAt: ago(100)},
			{ID: "owing", ProjectID: "a", State: Failed, CompletedAt: ago(100), reconcileAt: ago(100)},
			{ID: "third", ProjectID: "a", State: Canceled, CompletedAt: ago(3)},
			{ID: "second", ProjectID: "a", State: Completed, CompletedAt: ago(2)},
			{ID: "first", ProjectID: "a", State: Completed, CompletedAt: ago(1)},
			{ID: "queued", ProjectID: "b", State: Queued, CreatedAt: *ago(200), checkpoint: []byte(`{"sessionId":"worker"}`)},
		}
		err := db.Update(t.Context(), func(tx database.Tx) error {
			for _, job := range jobs {
				if err := insertJob(t.Context(), tx, job); err != nil {
					return err
				}
				if err := noteStart(t.Context(), tx, Job{ProjectID: job.ProjectID, Priority: Interactive}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		prune := func(keep journal.Retention, want map[string]int64) {
			t.Helper()
			gone := map[string]int64{}
			err := Prune(t.Context(), journal.Pruner{Journal: log, Now: now, Pruned: func(table string, rows int64) {
				gone[table] += rows
			}}, keep)
			if err != nil || !maps.Equal(gone, want) {
				t.Errorf("with %+v went %v, %v, want %v", keep, gone, err, want)
			}
		}
		prune(journal.Retention{}, map[string]int64{})
		prune(journal.Retention{Age: 90 * 24 * time.Hour}, map[string]int64{"jobs": 1, "job_lanes": 1})
		prune(journal.Retention{Max: 2}, map[string]int64{"jobs": 1})
		left, err := readJobs(t.Context(), db.Read(), `id in ('owing', 'second', 'first', 'queued')`)
		if err != nil || len(left) != 4 {
			t.Errorf("left are %v, %v", left, err)
		}
		for id, want := range map[string]bool{"worker": true, "other": false} {
			if got, err := Remembered(t.Context(), db.Read(), id); err != nil || got != want {
				t.Errorf("session %s is remembered: %v, %v", id, got, err)
			}
		}
	})
}
