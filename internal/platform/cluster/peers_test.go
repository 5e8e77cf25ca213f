package cluster_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// Sessions are made by nodes that are alive, accept requests and are not drained; the node with the least work comes
// first.
func TestWhoMakesSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		exec := func(statement string, args ...any) {
			t.Helper()
			err := db.Update(t.Context(), func(tx database.Tx) error {
				_, err := tx.ExecContext(t.Context(), statement, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"self", "busy", "idle", "drained", "silent", "stopped", "without a port", "without agents"} {
			o := cluster.Options{DB: db, NodeID: id, Owner: id, Lost: func(error) {}, Address: id + ":1", Certificate: id,
				Beat: time.Minute}
			switch id {
			case "without a port":
				o.Address = ""
			case "without agents":
				o.Roles = []string{cluster.RoleAPI}
			case "busy":
				o.Roles = []string{cluster.RoleRunner}
			}
			lease, err := cluster.Acquire(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			release := func() {
				if err := lease.Release(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
			if id == "stopped" {
				release()
			} else {
				t.Cleanup(release)
			}
		}
		const running = `insert into turns (session_id, turn_id, status, error, generation, node_id, started_at, completed_at)
			values ('s', $1, 'inProgress', '', 'g', 'busy', 1, 0)`
		exec(running, "1")
		exec(running, "2")
		exec(`update nodes set lease_until = 1 where node_id = 'silent'`)
		if err := cluster.Drain(t.Context(), db, "drained"); err != nil {
			t.Fatal(err)
		}
		takers, err := cluster.Takers(t.Context(), db, "self")
		runners, unread := cluster.Runners(t.Context(), db, "self")
		if want := []string{"busy", "drained", "idle"}; unread != nil || !slices.Equal(runners, want) {
			t.Errorf("agents are run by %q, %v, want %q", runners, unread, want)
		}
		if want := []string{"idle", "busy"}; err != nil || !slices.Equal(takers, want) {
			t.Errorf("sessions are made by %q, %v, want %q", takers, err, want)
		}
	})
}
