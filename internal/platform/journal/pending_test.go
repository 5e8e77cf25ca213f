package journal_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// While subscribers get a batch, the journal reports whether there is another one, written or not.
func TestPendingIsWhatSubscribersDoNotHave(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := start(t, db, journal.Options{})
		if log.Pending() {
			t.Error("something is pending before anything was written")
		}
		received, second := make(chan bool, 2), make(chan struct{})
		// The second unit ends once the first one's subscribers have seen that there is more, at the latest when it
		// runs.
		_, cancel := log.Subscribe(func([]journal.Record) {
			select {
			case <-second:
				received <- log.Pending()
			default:
				for deadline := time.Now().Add(time.Minute); !log.Pending() && time.Now().Before(deadline); {
					runtime.Gosched()
				}
				received <- log.Pending()
				close(second)
			}
		})
		defer cancel()
		running, end := make(chan struct{}), make(chan struct{})
		finished := make(chan error, 3)
		done := func(_ []journal.Record, err error) { finished <- err }
		unit := func(context.Context, database.Tx) ([]journal.Event, error) {
			return []journal.Event{{Type: "a.b"}}, nil
		}
		errs := []error{log.Submit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			close(running)
			<-end
			return unit(ctx, tx)
		}, done)}
		<-running
		if !log.Pending() {
			t.Error("nothing is pending while a unit runs")
		}
		errs = append(errs, log.Submit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			<-second
			return unit(ctx, tx)
		}, done))
		close(end)
		if !<-received || <-received {
			t.Error("the second batch is to be pending while the first is handed out, and nothing after it")
		}
		failed := errors.New("failed")
		errs = append(errs, <-finished, <-finished,
			log.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) { return nil, failed }, done))
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if err := <-finished; !errors.Is(err, failed) || log.Pending() {
			t.Errorf("%v; pending after a unit that failed: %t", err, log.Pending())
		}
	})
}
