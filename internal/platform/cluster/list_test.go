package cluster_test

import (
	"errors"
	"testing"

	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// Nodes are listed in their current state. A drained node detects it, and only a restart ends that.
func TestANodeIsDrained(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		states := func() (states string) {
			t.Helper()
			nodes, err := cluster.List(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				states += n.NodeID + " " + string(n.State) + " "
			}
			return states
		}
		first := node(t, db, "first", newGuard(), silence)
		second := node(t, db, "second", newGuard(), beat)
		if got := states(); got != "first up second up " {
			t.Errorf("the nodes are %s", got)
		}
		if err := cluster.Drain(t.Context(), db, "third"); !errors.Is(err, cluster.ErrUnknown) {
			t.Errorf("a node that is not there was drained: %v", err)
		}
		if err := cluster.Drain(t.Context(), db, "second"); err != nil {
			t.Fatal(err)
		}
		await(t, "does it drain", nil, second.Draining)
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := states(); got != "first stopped second draining " {
			t.Errorf("the nodes are %s", got)
		}
		if err := second.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again := node(t, db, "second", newGuard(), beat); again.Draining() || states() != "first stopped second up " {
			t.Errorf("after a restart the nodes are %s", states())
		}
	})
}
