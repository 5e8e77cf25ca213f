package cluster_test

import (
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// After a failover of the database no server takes over a node for one lease's duration. The new clock may be ahead,
// and live nodes have not renewed their leases on the new server yet.
func TestNoTakeoverWithinOneLeaseAfterFailover(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	taker := node(t, db, "taker", newGuard(), beat)
	g := newGuard()
	g.held = true
	node(t, db, "silent", g, silence)
	overFor := func(when string) bool {
		t.Helper()
		over, err := taker.Over(t.Context(), db.Read(), "silent")
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		return over
	}
	since := func() (server, since, now int64) {
		t.Helper()
		err := db.Read().QueryRowContext(t.Context(),
			`select server, since, (extract(epoch from clock_timestamp()) * 1000)::bigint from node_clock`).Scan(&server, &since, &now)
		if err != nil {
			t.Fatal(err)
		}
		return server, since, now
	}
	if server, at, _ := since(); server == 0 || at != 0 {
		t.Fatalf("the first server of the database is %d since %d", server, at)
	}
	if _, err := dbExec(t, db, `update nodes set lease_until = 1, grace = 0 where node_id = 'silent'`); err != nil {
		t.Fatal(err)
	}
	if !overFor("before") {
		t.Fatal("the lease is over, and does not count as such")
	}
	// The state that the former primary left: another server, with an earlier start time.
	var former int64
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		return tx.QueryRowContext(t.Context(), `update node_clock set server = server - 1 returning server`).Scan(&former)
	}); err != nil {
		t.Fatal(err)
	}
	if overFor("at once") {
		t.Error("a lease counts as expired by the clock of a server without a renewal yet")
	}
	ended := watched(t, db, taker)
	await(t, "is the new server noted", nil, func() bool { server, _, _ := since(); return server != former })
	await(t, "is the node over", nil, func() bool { return overFor("later") })
	_, at, now := since()
	if lease := (4 * beat).Milliseconds(); at == 0 || now-at < lease {
		t.Errorf("a node was over %d ms after the failover, a lease lasts %d", now-at, lease)
	}
	await(t, "is it ended", nil, func() bool { return len(ended) > 0 })
}
