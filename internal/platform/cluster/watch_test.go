package cluster_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/boottime"
	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/tests/dbtest"
)

// guard records what a lease allows.
type guard struct {
	mu         sync.Mutex
	held       bool
	stop, kill time.Duration
	changed    chan struct{}
}

func newGuard() *guard { return &guard{changed: make(chan struct{}, 1)} }

func (g *guard) Hold(stop, kill time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.stop, g.kill = true, stop, kill
	g.notify()
	return nil
}

func (g *guard) Lift() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	g.notify()
	return nil
}

func (g *guard) Held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *guard) notify() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// grace is so long that even a slow machine ends no node.
const grace = time.Minute

func node(t *testing.T, db *database.DB, id string, g cluster.Guard, pace time.Duration) *cluster.Lease {
	t.Helper()
	lease, err := cluster.Acquire(t.Context(), cluster.Options{DB: db, NodeID: id, Owner: id, Lost: func(error) {},
		Beat: pace, Patience: patience, Grace: grace, Guard: g})
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

// watched returns the nodes that a node, which monitors the others, has ended.
func watched(t *testing.T, db *database.DB, lease *cluster.Lease) <-chan cluster.UnresponsiveNode {
	t.Helper()
	ended := make(chan cluster.UnresponsiveNode, 8)
	watch := cluster.NewWatch(cluster.WatchOptions{DB: db, Lease: lease, Beat: beat, Logger: zerolog.Nop(),
		End: func(ctx context.Context, one cluster.UnresponsiveNode) error {
			err := db.Update(ctx, func(tx database.Tx) error { return one.Claim(ctx, db, tx) })
			if err == nil {
				ended <- one
			}
			return err
		}})
	if err := watch.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := watch.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return ended
}

func guarded(t *testing.T, db *database.DB, id string) (guarded, until int64) {
	t.Helper()
	err := db.Read().QueryRowContext(t.Context(), `select guarded, lease_until from nodes where node_id = $1`, id).
		Scan(&guarded, &until)
	if err != nil {
		t.Fatal(err)
	}
	return guarded, until
}

func await(t *testing.T, what string, signal <-chan struct{}, done func() bool) {
	t.Helper()
	over := time.After(hang)
	for !done() {
		select {
		case <-signal:
		case <-time.After(beat):
		case <-over:
			t.Fatalf("never %s", what)
		}
	}
}

// One of the other nodes ends an unresponsive node, once, after its lease and grace; from then on it owns nothing. A
// node with heartbeats is not ended.
func TestUnresponsiveNodeIsEndedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		first := node(t, db, "first", newGuard(), beat)
		second := node(t, db, "second", newGuard(), beat)
		await(t, "are the two guarded", nil, func() bool {
			a, _ := guarded(t, db, "first")
			b, _ := guarded(t, db, "second")
			return a+b == 2
		})
		// The store's state for a killed process: it held its runtimes bounded, and no longer beats.
		g := newGuard()
		g.held = true
		unresponsive := node(t, db, "silent", g, silence)
		if _, err := dbExec(t, db, `update nodes set lease_until = lease_until - 14400000 + $1, grace = 100 where node_id = 'silent'`,
			(4 * beat).Milliseconds()); err != nil {
			t.Fatal(err)
		}
		a, b := watched(t, db, first), watched(t, db, second)
		var ended cluster.UnresponsiveNode
		select {
		case ended = <-a:
		case ended = <-b:
		case <-time.After(hang):
			t.Fatal("no server ended the unresponsive node")
		}
		if ended.NodeID != "silent" {
			t.Errorf("%s was ended", ended.NodeID)
		}
		err := db.Update(t.Context(), func(tx database.Tx) error { return unresponsive.Owned(t.Context(), tx) })
		if lost := (*cluster.LostError)(nil); !errors.As(err, &lost) {
			t.Errorf("the ended node is its own still: %v", err)
		}
		if err := db.Update(t.Context(), func(tx database.Tx) error { return ended.Claim(t.Context(), db, tx) }); !errors.Is(err, cluster.ErrTaken) {
			t.Errorf("it was ended twice: %v", err)
		}
		select {
		case again := <-a:
			t.Errorf("%s was ended, too", again.NodeID)
		case again := <-b:
			t.Errorf("%s was ended, too", again.NodeID)
		default:
		}
	})
}

// A single node is not bounded and always sure. With other nodes it is bounded before they may take over, and not sure
// when it cannot renew its lease.
func TestOnlyANodeBesideOthersIsBound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		g := newGuard()
		alone := node(t, db, "alone", g, beat)
		_, before := guarded(t, db, "alone")
		await(t, "does it beat", nil, func() bool { _, until := guarded(t, db, "alone"); return until > before })
		if bound, _ := guarded(t, db, "alone"); bound != 0 || g.Held() || alone.Sure() != nil {
			t.Errorf("guarded %d, held %t, sure %v", bound, g.Held(), alone.Sure())
		}
		other := node(t, db, "other", newGuard(), beat)
		await(t, "is it bounded", g.changed, func() bool {
			if bound, _ := guarded(t, db, "alone"); bound != 0 && !g.Held() {
				t.Fatal("it may be ended before its runtimes are bounded")
			} else {
				return bound != 0
			}
			return false
		})
		g.mu.Lock()
		if left := g.stop - boottime.Now(); left > 4*beat || g.kill != g.stop+grace {
			t.Errorf("it may run for %s more, and be killed %s after", left, g.kill-g.stop)
		}
		g.mu.Unlock()
		if err := other.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, "is it free again", g.changed, func() bool { return !g.Held() })
		if bound, _ := guarded(t, db, "alone"); bound != 0 {
			t.Error("its runtimes are free while others may end them")
		}
	})
}

// A node that cannot renew its lease stops being sure before the lease ends, and is sure again when it can.
func TestNodeThatCannotRenewHoldsNoLease(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	lease := node(t, db, "first", newGuard(), beat)
	node(t, db, "second", newGuard(), beat)
	await(t, "is it guarded", nil, func() bool { bound, _ := guarded(t, db, "first"); return bound != 0 })
	locked, release := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `select 1 from nodes where node_id = 'first' for update`)
			close(locked)
			for err == nil {
				select {
				case <-release:
					return nil
				case <-time.After(beat): // a node that is silent for long is ended
					_, err = tx.ExecContext(t.Context(), `select 1`)
				}
			}
			return err
		})
	}()
	<-locked
	await(t, "is it unsure", nil, func() bool { return lease.Sure() != nil })
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	await(t, "is it sure again", nil, func() bool { return lease.Sure() == nil })
}

func dbExec(t *testing.T, db *database.DB, query string, args ...any) (n int64, err error) {
	t.Helper()
	err = db.Update(t.Context(), func(tx database.Tx) error {
		result, err := tx.ExecContext(t.Context(), query, args...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
	return n, err
}
