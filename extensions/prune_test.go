package extensions

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// Records of dispatches and actions are pruned after 30 days, while the server runs; records of reloads are pruned by
// their age and number.
func TestWhatExtensionsDidIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{})
		lifecycletest.Run(t, log)
		now := time.Now()
		err := db.Update(t.Context(), func(tx database.Tx) error {
			for i, days := range []int{1, 29, 31, 100} {
				at, id := now.Add(-time.Duration(days)*24*time.Hour).UnixMilli(), fmt.Sprint(i)
				for _, statement := range []string{
					`insert into extension_actions (key, signature, result, session_id, created_at) values ($2, '', '', '', $1)`,
					`insert into extension_dispatches (key, kind, node_id, session_id, turn_id, request_id, state, attempts, created_at, updated_at)
						values ($2, '', 'gone', '', '', '', 'pending', 0, $1, $1)`,
					`insert into extension_file_changes (session_id, turn_id, anchor_id, request_id, created_at) values ('s', $2, 'a', '', $1)`,
					`insert into extension_reloads (reload_id, recorded_at, actor_role, result, snapshot_before, trust_mode, impacted)
						values ($2, $1, '', '', '', '', '[]')`,
				} {
					if _, err := tx.ExecContext(t.Context(), statement, at, id); err != nil {
						return err
					}
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
		prune(journal.Retention{}, map[string]int64{"extension_actions": 2, "extension_dispatches": 2, "extension_file_changes": 2})
		prune(journal.Retention{Age: 90 * 24 * time.Hour}, map[string]int64{"extension_reloads": 1})
		prune(journal.Retention{Max: 2}, map[string]int64{"extension_reloads": 1})
	})
}
