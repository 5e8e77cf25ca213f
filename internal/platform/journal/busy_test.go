package journal_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// A writer that always has units without events to write still publishes other processes' events.
func TestBusyWriterReceivesOtherProcessesEvents(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	busy := start(t, db, journal.Options{PollInterval: 20 * time.Millisecond})
	other := start(t, db, journal.Options{})
	received := listen(busy)

	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	writing := make(chan struct{}, 1)
	nothing := func(context.Context, database.Tx) ([]journal.Event, error) {
		select {
		case writing <- struct{}{}:
		default:
		}
		return nil, nil
	}
	for range 256 {
		group.Go(func() {
			for ctx.Err() == nil {
				_ = busy.Submit(ctx, nothing, nil) // it ends with the test
			}
		})
	}
	<-writing
	if _, err := other.Append(t.Context(), journal.Event{Type: "from the other", Source: "test"}); err != nil {
		t.Fatal(err)
	}
	received.until(t, "from the other", "from")
}
