package cluster_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/cluster"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// hang only ends a test that hangs.
const hang = time.Minute

// server is one process with the node id "node-1".
type server struct {
	*cluster.Lease
	lost chan error
}

// silence is the heartbeat interval of a lease whose process was killed or frozen: it never beats.
const silence = time.Hour

func start(t *testing.T, db *database.DB, place string, beat, patience time.Duration) (*server, error) {
	t.Helper()
	s := &server{lost: make(chan error, 1)}
	lease, err := cluster.Acquire(t.Context(),
		cluster.Options{DB: db, NodeID: "node-1", Place: place, Owner: "process 7 in " + place,
			Lost: func(err error) { s.lost <- err }, Beat: beat, Patience: patience})
	if err != nil {
		return nil, err
	}
	s.Lease = lease
	t.Cleanup(func() {
		if err := lease.Release(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s, nil
}

func mustStart(t *testing.T, db *database.DB, place string, beat time.Duration) *server {
	t.Helper()
	s, err := start(t, db, place, beat, patience)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	beat     = 40 * time.Millisecond
	patience = 2 * time.Second
)

// A second server with a running server's node id is refused, whatever its place, and the message names the cause and
// the remedy.
func TestRunningNodeIsNotTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		first := mustStart(t, db, "a", beat)
		for _, place := range []string{"b", ""} {
			_, err := start(t, db, place, beat, hang)
			var held *cluster.HeldError
			if !errors.As(err, &held) || held.Owner != "process 7 in a" ||
				!strings.Contains(err.Error(), "delete its file node-id") {
				t.Errorf("from place %q: %v", place, err)
			}
		}
		select {
		case err := <-first.lost:
			t.Errorf("the first server got %v", err)
		default:
		}
	})
}

// The node id of a killed predecessor is acquired at once in the same place, and elsewhere after it has been
// unresponsive for long enough. If the predecessor is still alive, it learns that it must end, and does not release the
// node id then.
func TestUnresponsiveNodeIsTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		mustStart(t, db, "a", silence)
		began := time.Now()
		again := mustStart(t, db, "a", silence)
		if took := time.Since(began); took >= patience {
			t.Errorf("a restart in the same place took %s", took)
		}
		began = time.Now()
		frozen := mustStart(t, db, "b", beat)
		if took := time.Since(began); took < patience {
			t.Errorf("another place was given the node id after %s", took)
		}
		if err := again.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		taker := mustStart(t, db, "b", beat)
		select {
		case err := <-frozen.lost:
			if !strings.Contains(err.Error(), "taken over by another server") {
				t.Errorf("the loser got %v", err)
			}
		case <-time.After(hang):
			t.Fatal("the loser was not notified")
		}
		if err := frozen.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := start(t, db, "c", beat, hang); err == nil {
			t.Error("the loser gave up what was not its own any more")
		}
		if err := taker.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustStart(t, db, "c", beat)
	})
}

// Nodes without a heartbeat for a long time are deleted with their rows; other nodes are not.
func TestNodesOfLongAgoAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{})
		lifecycletest.Run(t, log)
		mustStart(t, db, "a", beat)
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(),
				`insert into nodes (node_id, process, place, owner, beat, seen_at) values ('gone', 'p', '', '', 1, 5)`)
			for _, id := range []string{"gone", "node-1", "unknown"} {
				if err == nil {
					_, err = tx.ExecContext(t.Context(), `insert into extension_cursors (node_id, pos) values ($1, 1)`, id)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		gone := map[string]int64{}
		err = cluster.Prune(t.Context(), log, time.Now(), time.Hour, "extension_cursors", func(table string, rows int64) {
			gone[table] += rows
		})
		if err != nil || !maps.Equal(gone, map[string]int64{"extension_cursors": 1, "nodes": 1}) {
			t.Errorf("went %v, %v", gone, err)
		}
	})
}
