package journal_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// However many units are queued, a transaction ends with the unit that reaches its bound of events or bytes. Order,
// numbers and the ephemeral events in between stay as submitted.
func TestATransactionIsBounded(t *testing.T) {
	t.Parallel()
	large := append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 900<<10)...), '"')
	for name, c := range map[string]struct {
		units   []int // events of each
		payload []byte
		most    int // events of a transaction
	}{
		"events": {slices.Repeat([]int{100, 1, 1000, 0}, 3), nil, 1023 + 1000},
		"bytes":  {slices.Repeat([]int{2, 0, 1}, 3), large, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				var mu sync.Mutex
				var sizes []int
				j := start(t, db, journal.Options{Hooks: journal.Hooks{Observe: func(_, events int, _ time.Duration) {
					mu.Lock()
					defer mu.Unlock()
					sizes = append(sizes, events)
				}}})
				h := listen(j)
				begun, end := make(chan struct{}), make(chan struct{})
				submit := func(unit journal.Unit, done journal.Done) {
					if err := j.Submit(t.Context(), unit, done); err != nil {
						t.Fatal(err)
					}
				}
				submit(func(context.Context, database.Tx) ([]journal.Event, error) {
					close(begun)
					<-end
					return nil, nil
				}, nil)
				<-begun
				var want []string
				results := make(chan error, len(c.units))
				total := 0
				for i, count := range c.units {
					events := make([]journal.Event, count)
					for k := range events {
						events[k] = journal.Event{SessionID: fmt.Sprint(i % 3), Type: fmt.Sprintf("e%d-%d", i, k), Payload: c.payload}
						want = append(want, events[k].Type)
					}
					total += count
					submit(func(context.Context, database.Tx) ([]journal.Event, error) { return events, nil },
						func(records []journal.Record, err error) {
							if len(records) != count {
								err = fmt.Errorf("%d records of %d events: %w", len(records), count, err)
							}
							results <- err
						})
					published := fmt.Sprintf("e%d-ephemeral", i)
					want = append(want, published)
					if err := j.PublishEphemeral(t.Context(), journal.Event{Type: published}); err != nil {
						t.Fatal(err)
					}
				}
				close(end)
				for range c.units {
					if err := <-results; err != nil {
						t.Error(err)
					}
				}
				if got := h.until(t, want[len(want)-1], "e"); !slices.Equal(got, want) {
					t.Errorf("got  %d in the order %.60v\nwant %d in the order %.60v", len(got), got, len(want), want)
				}
				requireGapFree(t, readAll(t, j))
				stop(t, j)
				mu.Lock()
				defer mu.Unlock()
				for _, size := range sizes {
					total -= size
					if size > c.most {
						t.Errorf("a transaction of %d events, want at most %d", size, c.most)
					}
				}
				if total != 0 {
					t.Errorf("transactions of %v leave %d events", sizes, total)
				}
			})
		})
	}
}
