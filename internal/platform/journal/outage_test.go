package journal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/tests/disktest"
)

// fault is a store that can be made to refuse writes, and then repaired.
type fault struct {
	name         string
	cause        string // part of the refusal's text
	store        func(t *testing.T) database.Options
	refuse, mend func()
}

// onRole returns a Postgres fault that concerns one role. The statements run as an administrator; afterwards the
// connections are closed.
func onRole(name, cause, refuse, mend string) *fault {
	f := &fault{name: name, cause: cause}
	f.store = func(t *testing.T) database.Options {
		role := dbtest.NewRole(t)
		set := func(change string) {
			role.Set(change)
			role.Disconnect()
		}
		f.refuse, f.mend = func() { set(refuse) }, func() { set(mend) }
		return database.Options{URL: role.URL}
	}
	return f
}

// locked returns a Postgres whose head row another transaction holds for longer than a connection waits for a lock.
func locked() *fault {
	f := &fault{name: "lock time-out", cause: "55P03"}
	f.store = func(t *testing.T) database.Options {
		role := dbtest.NewRole(t)
		f.refuse = func() { f.mend = role.Lock(`select pos from journal_head for update`) }
		return database.Options{URL: role.URL}
	}
	return f
}

// raised returns a Postgres error that a trigger raises, for conditions that a test cannot produce.
func raised(state string) *fault {
	f := &fault{name: state, cause: state}
	f.store = func(t *testing.T) database.Options {
		role := dbtest.NewRole(t)
		f.refuse = func() {
			role.Do(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused' using errcode = '` +
				state + `'; end $$`)
			role.Do(`create trigger refuse before insert on journal_events for each statement execute function refuse()`)
		}
		f.mend = func() { role.Do(`drop function refuse cascade`) }
		return database.Options{URL: role.URL}
	}
	return f
}

func faults() []*fault {
	cut := &fault{name: "connection lost", cause: "connect"}
	cut.store = func(t *testing.T) database.Options {
		proxy := dbtest.NewProxy(t, dbtest.NewRole(t).URL)
		cut.refuse, cut.mend = proxy.Cut, proxy.Mend
		return database.Options{URL: proxy.URL}
	}
	swallowed := &fault{name: "packets swallowed", cause: "database"}
	swallowed.store = func(t *testing.T) database.Options {
		proxy := dbtest.NewProxy(t, dbtest.NewRole(t).URL)
		swallowed.refuse, swallowed.mend = func() { proxy.Swallow(dbtest.Both) }, proxy.Mend
		return database.Options{URL: proxy.URL}
	}
	full := &fault{name: "SQLite, disk full", cause: "disk is full"}
	full.store = func(t *testing.T) database.Options {
		disk := disktest.New(t, "4m")
		full.refuse, full.mend = disk.Fill, disk.Free
		return database.Options{Path: filepath.Join(disk.Path, "harness.db")}
	}
	return []*fault{
		onRole("read-only", "25006", "set default_transaction_read_only = on", "reset default_transaction_read_only"),
		locked(), raised("57014"),
		onRole("too many connections", "53300", "connection limit 0", "connection limit -1"),
		onRole("not let in", "28000", "nologin", "login"),
		raised("53100"), raised("58030"), raised("40P01"), cut, swallowed, full,
	}
}

// Whatever the reason why a store refuses writes, the journal holds the submitted units, in order. It stores them once
// when the store accepts writes again. A caller with a shorter patience leaves with the reason, and its unit is not
// stored.
func TestAStoreThatRefusesIsOutwaited(t *testing.T) {
	t.Parallel()
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			opts := f.store(t)
			db := dbtest.Connect(t, opts)
			if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
				t.Fatal(err)
			}
			j := start(t, db, journal.Options{})
			received := listen(j)
			said := 0
			say := func(n int, stored chan<- error) {
				t.Helper()
				for range n {
					event := journal.Event{SessionID: "s", Type: fmt.Sprint(said)}
					said++
					unit := func(context.Context, database.Tx) ([]journal.Event, error) { return []journal.Event{event}, nil }
					if err := j.Submit(context.Background(), unit, func(_ []journal.Record, err error) { stored <- err }); err != nil {
						t.Fatal(err)
					}
				}
			}
			wait := func(n int, stored <-chan error) {
				t.Helper()
				for range n {
					select {
					case err := <-stored:
						if err != nil {
							t.Fatalf("a unit was dropped: %v", err)
						}
					case <-time.After(time.Minute):
						t.Fatal("held events are lost")
					}
				}
			}
			for round := range 2 {
				stored := make(chan error, 300)
				say(50, stored)
				wait(50, stored)
				before := time.Now()
				f.refuse()
				say(100, stored)
				outage := &journal.OutageError{Cause: errors.New("none yet")}
				// The first refusal may come from a closed connection.
				for !strings.Contains(outage.Cause.Error(), f.cause) {
					_, err := j.Append(journal.Patient(t.Context(), 10*time.Millisecond),
						journal.Event{SessionID: "s", Type: "not stored"})
					if !errors.As(err, &outage) || outage.Engine != db.Engine() || outage.Since.Before(before) ||
						!database.Transient(outage.Cause) {
						t.Fatalf("a caller with little patience got %v", err)
					}
				}
				if err := j.AwaitWrites(journal.Patient(t.Context(), time.Millisecond)); !errors.As(err, &outage) {
					t.Fatalf("waiting for writes ended with %v", err)
				}
				say(100, stored)
				select {
				case err := <-stored:
					t.Fatalf("round %d: a unit ended during the outage: %v", round, err)
				default:
				}
				f.mend()
				wait(200, stored)
				if err := j.AwaitWrites(t.Context()); err != nil || j.Outage() != nil {
					t.Fatalf("after the outage: %v, %v", err, j.Outage())
				}
			}
			received.until(t, fmt.Sprint(said-1), "none")
			records := readAll(t, journal.New(dbtest.Connect(t, opts), journal.Options{}))
			requireGapFree(t, records)
			for i, record := range records {
				if record.Type != fmt.Sprint(i) {
					t.Fatalf("event %d is %s", i, record.Type)
				}
			}
			if len(records) != said {
				t.Fatalf("%d events are stored, want %d", len(records), said)
			}
		})
	}
}

// The end of an outage is detected even when no unit waits.
func TestTheEndOfAnOutageIsFoundOut(t *testing.T) {
	t.Parallel()
	f := raised("53100")
	db := dbtest.Connect(t, f.store(t))
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	kept := func(over journal.OutageError, until time.Time) journal.Event {
		return journal.Event{Type: "over", Actor: string(over.Engine), Time: until.Sub(over.Since).Milliseconds() + 1}
	}
	j := start(t, db, journal.Options{Recorded: kept})
	f.refuse()
	var outage *journal.OutageError
	if _, err := j.Append(journal.Patient(t.Context(), time.Millisecond), journal.Event{Type: "x"}); !errors.As(
		err, &outage) {
		t.Fatal(err)
	}
	f.mend()
	if err := j.AwaitWrites(t.Context()); err != nil || j.Outage() != nil {
		t.Fatalf("%v, %v", err, j.Outage())
	}
	if all := readAll(t, j); len(all) != 0 {
		t.Fatalf("stored were %v", all)
	}
	// It is stored with the next event, once.
	for range 2 {
		if _, err := j.Append(t.Context(), journal.Event{Type: "next"}); err != nil {
			t.Fatal(err)
		}
	}
	all := readAll(t, j)
	if len(all) != 3 || all[0].Type != "next" || all[1].Type != "over" || all[1].Actor != "postgres" || all[1].Time < 1 ||
		all[2].Type != "next" {
		t.Errorf("stored were %+v", all)
	}
}

// A journal that is stopped while the store refuses writes returns the error for every held unit.
func TestStoppingInAnOutage(t *testing.T) {
	t.Parallel()
	f := raised("53100")
	db := dbtest.Connect(t, f.store(t))
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	j := journal.New(db, journal.Options{})
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.refuse()
	ends := make(chan error, 3)
	unit := func(context.Context, database.Tx) ([]journal.Event, error) { return []journal.Event{{}}, nil }
	for range cap(ends) {
		if err := j.Submit(context.Background(), unit, func(_ []journal.Record, err error) { ends <- err }); err != nil {
			t.Fatal(err)
		}
	}
	var outage *journal.OutageError
	if _, err := j.Append(journal.Patient(t.Context(), time.Millisecond)); !errors.As(err, &outage) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := j.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for range cap(ends) {
		if err := <-ends; !errors.Is(err, journal.ErrStopped) {
			t.Errorf("a unit that was held ended with %v", err)
		}
	}
	if err := j.AwaitWrites(context.Background()); !errors.Is(err, journal.ErrStopped) {
		t.Errorf("waiting for writes of a stopped journal ended with %v", err)
	}
}
