package journal_test

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// replicated returns a store on a primary with a synchronous standby.
func replicated(t *testing.T) (*dbtest.Pair, *database.DB) {
	t.Helper()
	pair := dbtest.NewPair(t)
	db := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
	migrate(t, db)
	return pair, db
}

func migrate(t testing.TB, db *database.DB) {
	t.Helper()
	if _, err := migrations.Up(t.Context(), db, ""); err != nil {
		t.Fatal(err)
	}
}

// hasty returns a store whose commits do not wait for the standby: its writes are visible before the standby has them.
func hasty(t *testing.T, pair *dbtest.Pair) *database.DB {
	t.Helper()
	parsed, err := url.Parse(pair.URL(pair.Primary()))
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	query.Set("synchronous_commit", "local")
	parsed.RawQuery = query.Encode()
	return dbtest.Connect(t, database.Options{URL: parsed.String()})
}

// Data that only the primary has may be lost in a failover. No reader gets it before the standby has it, whichever way
// it reads. Many readers wait for one transaction.
func TestWhatOnlyThePrimaryHasIsNotShown(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	reader := start(t, db, journal.Options{Barrier: true, PollInterval: time.Hour})
	writer := start(t, hasty(t, pair), journal.Options{PollInterval: time.Hour})
	event := journal.Event{SessionID: "s", Type: "t", Source: "test"}
	add := func() {
		t.Helper()
		if _, err := writer.Append(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	var delivered sync.Map
	reader.Subscribe(func(records []journal.Record) {
		for i := range records {
			delivered.Store(records[i].Pos, true)
		}
	})
	add()
	if records, err := reader.Read(t.Context(), journal.Query{}); err != nil || len(records) != 1 {
		t.Fatalf("%d records while there is a standby, want 1: %v", len(records), err)
	}

	pair.Isolate()
	add()
	before := waits(t, db)
	if before != 0 {
		t.Fatalf("%d transactions wait for the standby before anybody reads", before)
	}
	if seen, err := journal.New(db, journal.Options{}).Read(t.Context(), journal.Query{}); err != nil || len(seen) != 2 {
		t.Fatalf("%d records are visible on the primary, want 2: %v", len(seen), err)
	}
	var began time.Time
	if err := db.Read().QueryRowContext(t.Context(), `select clock_timestamp()`).Scan(&began); err != nil {
		t.Fatal(err)
	}
	reader.PollNow() // for its subscribers
	ways := map[string]func(ctx context.Context) (int64, error){
		"read": func(ctx context.Context) (int64, error) {
			return last(reader.Read(ctx, journal.Query{}))
		},
		"read of a session": func(ctx context.Context) (int64, error) {
			return last(reader.ReadSession(ctx, "s", 0, 0))
		},
		"browse": func(ctx context.Context) (int64, error) {
			return last(reader.Browse(ctx, journal.Selection{Before: 100, Limit: 100}))
		},
		"bounds": func(ctx context.Context) (int64, error) {
			_, head, err := reader.Bounds(ctx)
			return head, err
		},
	}
	shown := make(chan string, len(ways))
	for name, read := range ways {
		go func() {
			pos, err := read(t.Context())
			if err != nil || pos != 2 {
				t.Errorf("%s ends at %d: %v", name, pos, err)
			}
			shown <- name
		}()
	}
	if !polling.Until(time.Minute, func() bool { return waits(t, db) > 0 && reading(t, db, began) > len(ways) }) {
		t.Fatalf("%d of %d readers have read and wait, by %d transactions", reading(t, db, began), len(ways)+1, waits(t, db))
	}
	if n := waits(t, db); n != 1 {
		t.Errorf("%d transactions wait for the standby, want 1 for all readers", n)
	}
	select {
	case name := <-shown:
		t.Errorf("%s showed what the standby does not have", name)
	default:
	}
	if _, early := delivered.Load(int64(2)); early {
		t.Error("subscribers were handed what the standby does not have")
	}
	if records, err := reader.Read(t.Context(), journal.Query{Limit: 1}); err != nil || len(records) != 1 {
		t.Errorf("what the standby has cannot be read: %d records: %v", len(records), err)
	}

	pair.Rejoin()
	for range ways {
		<-shown
	}
	if !polling.Until(time.Minute, func() bool { _, is := delivered.Load(int64(2)); return is }) {
		t.Error("subscribers were never handed what the standby has")
	}
}

// A former primary that still runs, isolated but connected to a reader, shows nothing that the new primary does not
// have. That holds even if the new primary's events at these positions are known to survive.
func TestAFormerPrimaryShowsNothingNew(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
	reader := start(t, dbtest.Connect(t, database.Options{URL: way.URL}), journal.Options{Barrier: true})
	var mu sync.Mutex
	var seen []string
	reader.Subscribe(func(records []journal.Record) {
		mu.Lock()
		defer mu.Unlock()
		for i := range records {
			seen = append(seen, records[i].Type)
		}
	})
	want := func(types ...string) {
		t.Helper()
		if !polling.Until(time.Minute, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(seen, types)
		}) {
			t.Fatalf("subscribers were handed %q, want %q", seen, types)
		}
	}
	add := func(log *journal.Journal, what string) {
		t.Helper()
		if _, err := log.Append(t.Context(), journal.Event{Type: what}); err != nil {
			t.Fatal(err)
		}
	}
	hasty := start(t, hasty(t, pair), journal.Options{PollInterval: time.Hour})
	add(hasty, "of both")
	want("of both")
	pair.Isolate()
	former := pair.Primary()
	pair.Promote()
	next := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
	add(start(t, next, journal.Options{}), "of the new one")
	if err := way.Divert(pair.URL(pair.Primary())); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	if err := reader.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{Type: "of the reader"}}, nil
	}, func(_ []journal.Record, err error) { written <- err }); err != nil {
		t.Fatal(err)
	}
	if !polling.Until(time.Minute, func() bool { return ask(t, next, `select count(*) from journal_events`) == 3 }) {
		t.Fatal("the reader does not write to the new primary")
	}
	add(hasty, "of the former one") // it has the same position as the event on the new primary
	if !polling.Until(time.Minute, func() bool { return waits(t, db) == 1 }) {
		t.Error("no commit waits at the former primary")
	}
	want("of both")
	pair.Kill(former)
	want("of both", "of the new one", "of the reader")
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func last(records []journal.Record, err error) (int64, error) {
	if err != nil || len(records) == 0 {
		return 0, err
	}
	return records[len(records)-1].Pos, nil
}

// waits returns how many transactions wait for the standby.
func waits(t *testing.T, db *database.DB) int {
	t.Helper()
	return ask(t, db, `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`)
}

// reading returns how many connections have read events last, or run the transaction after that, since a time.
func reading(t *testing.T, db *database.DB, since time.Time) int {
	t.Helper()
	return ask(t, db, `select count(*) from pg_stat_activity where pid <> pg_backend_pid() and query_start > $1 and
		(query like '%from journal_events where%' or query like 'select oldest, pos from journal_head%' or wait_event = 'SyncRep')`,
		since)
}

func ask(t *testing.T, db *database.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.Read().QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
