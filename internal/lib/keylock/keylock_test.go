package keylock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"harness/internal/lib/keylock"
)

// One caller at a time holds a key, and other keys do not wait for it. A canceled caller leaves nothing behind, and a
// free key uses no memory.
func TestLocks(t *testing.T) {
	t.Parallel()
	var locks keylock.Locks
	release, err := locks.Acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := locks.Acquire(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.Acquire(canceled, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is held, when the wait is over: %v", err)
	}
	held, most := 0, 0
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			release, err := locks.Acquire(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			held++ // the race detector would report two
			most = max(most, held)
			held--
			release()
		})
	}
	release()
	group.Wait()
	if users := locks.Users(); most != 1 || len(users) != 0 {
		t.Errorf("%d held the key at once, %v are left", most, users)
	}
}
