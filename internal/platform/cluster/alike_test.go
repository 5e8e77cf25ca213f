package cluster_test

import (
	"context"
	"testing"

	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// A node knows whether all other live nodes have a node port and its version.
func TestANodeKnowsWhetherTheOthersAreAlike(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		acquire := func(id, version, address string) *cluster.Lease {
			t.Helper()
			lease, err := cluster.Acquire(t.Context(), cluster.Options{DB: db, NodeID: id, Place: id, Owner: id, Beat: beat,
				Patience: patience, Version: version, Address: address, Lost: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := lease.Release(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			return lease
		}
		first := acquire("first", "2", "127.0.0.1:1")
		is := func(what string, want bool) {
			t.Helper()
			if !polling.Until(hang, func() bool { return first.Alike() == want }) {
				t.Errorf("%s: alike is %v", what, !want)
			}
		}
		is("alone", true)
		acquire("second", "2", "127.0.0.1:2")
		for _, other := range []struct{ what, version, address string }{
			{"beside one of another version", "1", "127.0.0.1:3"}, {"beside one without a node port", "2", ""},
		} {
			third := acquire("third", other.version, other.address)
			is(other.what, false)
			if err := third.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			is("once that is gone", true)
		}
	})
}
