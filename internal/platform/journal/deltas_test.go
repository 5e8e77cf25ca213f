package journal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

func deltaEvent(session, item string, n int) journal.Event {
	return journal.Event{SessionID: session, ItemID: item, Type: "runtime.notification",
		Meta: json.RawMessage(`{"receivedAt":1,"text":{"group":1}}`), Payload: json.RawMessage(fmt.Sprint(n))}
}

// An index that holds nothing else finds the deltas of an item, whatever the length of the journal. A unit sees the
// deltas of earlier units in its transaction, although they are written after it.
func TestDeltasOfAnItem(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		commit := func(events ...journal.Event) {
			t.Helper()
			if _, err := j.Commit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
				return events, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 300 {
			other := deltaEvent("s", "i", n)
			other.Meta = json.RawMessage(`{"receivedAt":1,"session":{"title":"\"text\":{"}}`)
			commit(other, deltaEvent("s", fmt.Sprint("i", n), n), deltaEvent("t", "i", n))
		}
		commit(deltaEvent("s", "i", 1), deltaEvent("s", "i", 2))

		payloads := func(records []journal.Record, err error) (out []string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range records {
				out = append(out, string(record.Payload))
			}
			return out
		}
		if got := payloads(j.ReadDeltas(t.Context(), db.Read(), "s", "i")); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("found %v", got)
		}
		if plan := explain(t, db, journal.DeltasOfItem, "s", "i"); !strings.Contains(plan, "journal_events_deltas") {
			t.Errorf("the deltas are not found by their index:\n%s", plan)
		}

		// Both units are waiting when the writer reaches them, so they share a transaction.
		busy, free := make(chan struct{}), make(chan struct{})
		var seen []string
		units := []journal.Unit{
			func(context.Context, database.Tx) ([]journal.Event, error) { close(busy); <-free; return nil, nil },
			func(context.Context, database.Tx) ([]journal.Event, error) {
				return []journal.Event{deltaEvent("s", "i", 3), deltaEvent("s", "other", 4)}, nil
			},
			func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				seen = payloads(j.ReadDeltas(ctx, tx, "s", "i"))
				return nil, nil
			},
		}
		done := make(chan error, len(units))
		for n, unit := range units {
			if err := j.Submit(t.Context(), unit, func(_ []journal.Record, err error) { done <- err }); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				<-busy
			}
		}
		close(free)
		for range units {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(seen, []string{"1", "2", "3"}) {
			t.Errorf("the unit saw %v", seen)
		}
	})
}

// explain returns the engine's query plan of a statement.
func explain(t *testing.T, db *database.DB, statement string, args ...any) string {
	t.Helper()
	prefix, columns := "explain query plan ", 4
	if db.Engine() == database.Postgres {
		prefix, columns = "explain ", 1
	}
	rows, err := db.Read().QueryContext(t.Context(), prefix+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		line := make([]any, columns)
		for i := range line {
			line[i] = new(any)
		}
		if err := rows.Scan(line...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, *line[columns-1].(*any))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
