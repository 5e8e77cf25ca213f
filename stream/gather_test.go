package stream

import (
	"testing"
	"testing/synctest"
	"time"
)

// A large shard waits for pending frames, so that one write serves them all, but for at most half a round. A
// few sockets do not wait.
func TestLargeShardWaitsForPendingFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sockets int
		waits   time.Duration // for frames that never come
	}{"large": {gatherThreshold, gatherThreshold * gatherPerConn}, "very large": {2000, maxPause}, "few": {gatherThreshold - 1, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := newMemoryJournal()
				h := NewHub(j, Options{Shards: 1})
				if err := h.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				defer stopHub(t, h)
				conns := make([]*fakeConn, c.sockets)
				for i := range conns {
					_, conns[i] = join(t, h, "")
				}
				synctest.Wait()
				expect := func(what string, messages, writes int) {
					t.Helper()
					for i, conn := range conns {
						conn.mu.Lock()
						gotMessages, gotWrites := len(conn.received), conn.writes
						conn.mu.Unlock()
						if gotMessages != messages || gotWrites != writes {
							t.Fatalf("%s: socket %d has %d messages by %d writes, want %d by %d", what, i, gotMessages, gotWrites,
								messages, writes)
						}
					}
				}
				expect("joined", 1, 1)

				j.pending.Store(true)
				appendAll(t, j, plainEvent("", "first"))
				synctest.Wait()
				j.pending.Store(false)
				appendAll(t, j, plainEvent("", "second"))
				synctest.Wait()
				writes := 2
				if c.waits == 0 {
					writes = 3
				}
				expect("both", 3, writes)

				j.pending.Store(true)
				began := time.Now()
				appendAll(t, j, plainEvent("", "third"))
				conns[0].wait(t, "the third", func() bool { return len(conns[0].received) == 4 })
				if took := time.Since(began); took != c.waits {
					t.Errorf("waited %v, want %v", took, c.waits)
				}
				synctest.Wait()
				expect("all", 4, writes+1)
			})
		})
	}
}
