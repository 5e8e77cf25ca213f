package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// collector collects what a journal publishes, records and ephemeral events, in order.
type collector struct {
	mu   sync.Mutex
	all  []string
	news chan struct{}
}

func listen(j *journal.Journal) *collector {
	h := &collector{news: make(chan struct{}, 1)}
	j.Subscribe(func(records []journal.Record) {
		for _, r := range records {
			h.add(r.Type)
		}
	})
	j.SubscribeEphemeral(func(events []journal.Event) {
		for _, e := range events {
			h.add(e.Type)
		}
	})
	return h
}

func (h *collector) add(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// until waits for last, and returns everything up to it that starts with the prefix.
func (h *collector) until(t *testing.T, last, prefix string) []string {
	t.Helper()
	for {
		h.mu.Lock()
		all := slices.Clone(h.all)
		h.mu.Unlock()
		if slices.Contains(all, last) {
			return slices.DeleteFunc(all, func(s string) bool { return len(s) < len(prefix) || s[:len(prefix)] != prefix })
		}
		select {
		case <-h.news:
		case <-time.After(time.Minute):
			t.Fatalf("%s was not handed out: %v", last, all)
		}
	}
}

// Ephemeral events keep their order among the units of their producer, whatever other producers commit, also in another
// process.
func TestEphemeralEventsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		db := dbtest.Open(t, engine)
		j := start(t, db, journal.Options{})
		others := []*journal.Journal{j}
		if engine == database.Postgres {
			others = append(others, start(t, db, journal.Options{}))
		}
		h := listen(j)
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for n, other := range others {
			busy.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					_, _ = other.Append(ctx, journal.Event{SessionID: fmt.Sprint(n), Type: "other"})
				}
			})
		}
		var want []string
		for i := range 400 {
			name := fmt.Sprintf("mine %d", i)
			want = append(want, name)
			var err error
			switch {
			case i%3 == 0 || i == 399:
				err = j.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
					return []journal.Event{{SessionID: "s", Type: name}}, nil
				}, nil)
			default:
				err = j.PublishEphemeral(t.Context(), journal.Event{SessionID: "s", Type: name})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got := h.until(t, "mine 399", "mine")
		cancel()
		busy.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("handed out %v", got)
		}
		var stored []string
		for _, r := range readAll(t, j) {
			if r.SessionID == "s" {
				stored = append(stored, r.Type)
			}
		}
		if len(stored) != 134 {
			t.Errorf("%d events stored, 134 were submitted", len(stored))
		}
	})
}

// An ephemeral event needs no transaction: it arrives while the store accepts no writes.
func TestEphemeralEventsNeedNoCommit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		h := listen(j)
		held, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() {
			done <- db.Update(t.Context(), func(tx database.Tx) error {
				if _, err := tx.ExecContext(t.Context(), `update journal_head set oldest = oldest where id = 1`); err != nil {
					return err
				}
				close(held)
				<-release
				return nil
			})
		}()
		select {
		case <-held:
		case err := <-done:
			t.Fatal(err)
		}
		if err := j.PublishEphemeral(t.Context(), journal.Event{Type: "ephemeral"}); err != nil {
			t.Fatal(err)
		}
		h.until(t, "ephemeral", "")
		close(release)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A failed unit does not discard ephemeral events, and a cancelled subscriber gets nothing.
func TestEphemeralEventsSurviveFailedUnits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{Gather: 50 * time.Millisecond})
		h := listen(j)
		cancel := j.SubscribeEphemeral(func([]journal.Event) { t.Error("a cancelled subscriber was called") })
		cancel()
		cancel()
		bad := errors.New("bad unit")
		for i := range 20 {
			err := j.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
				if i%5 == 0 {
					return nil, bad
				}
				return []journal.Event{{Type: fmt.Sprintf("unit %d", i)}}, nil
			}, nil)
			if err == nil {
				err = j.PublishEphemeral(t.Context(), journal.Event{Type: fmt.Sprintf("ephemeral %d", i)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		h.until(t, "ephemeral 19", "")
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.all) != 36 {
			t.Errorf("%d of 20 ephemeral and 16 stored: %v", len(h.all), h.all)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		j := start(t, dbtest.Open(t, database.SQLite), journal.Options{})
		stop(t, j)
		if err := j.PublishEphemeral(t.Context(), journal.Event{}); !errors.Is(err, journal.ErrStopped) {
			t.Errorf("publishing on a stopped journal: %v", err)
		}
	})
}
