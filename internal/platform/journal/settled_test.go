package journal_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// read reads rows as request handlers do.
func read(t *testing.T, ctx context.Context, db *database.DB) {
	t.Helper()
	var n int
	if err := db.Read().QueryRowContext(ctx, `select count(*) from journal_events`).Scan(&n); err != nil {
		t.Fatal(err)
	}
}

// Rows that the standby does not have are returned once it has them, or refused when the caller's patience ends. A
// caller that has read nothing does not wait, and neither does one whose rows are known to survive.
func TestRowsThatOnlyThePrimaryHasAreNotAnswered(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	log := start(t, db, journal.Options{Barrier: true, PollInterval: time.Hour})
	writer := start(t, hasty(t, pair), journal.Options{PollInterval: time.Hour})
	if _, err := log.Append(t.Context(), journal.Event{Type: "its own"}); err != nil {
		t.Fatal(err)
	}
	pair.Isolate()
	known := log.Reading(t.Context())
	read(t, known, db)
	if err := log.Settled(known); err != nil {
		t.Errorf("what is known to survive is refused: %v", err)
	}
	if _, err := writer.Append(t.Context(), journal.Event{Type: "of another process"}); err != nil {
		t.Fatal(err)
	}
	if err := log.Settled(log.Reading(t.Context())); err != nil {
		t.Errorf("who read nothing is refused: %v", err)
	}
	hurried := log.Reading(journal.Patient(t.Context(), 50*time.Millisecond))
	read(t, hurried, db)
	if err := log.Settled(hurried); !errors.Is(err, database.ErrUnsettled) || !database.Refused(err) {
		t.Errorf("who does not want to wait has %v, want %v", err, database.ErrUnsettled)
	}
	answered := make(chan error, 1)
	go func() {
		ctx := log.Reading(t.Context())
		read(t, ctx, db)
		answered <- log.Settled(ctx)
	}()
	if !polling.Until(time.Minute, func() bool { return waits(t, db) > 0 }) {
		t.Fatal("no commit waits for the standby")
	}
	select {
	case err := <-answered:
		t.Errorf("what the primary alone has may be shown: %v", err)
	default:
	}
	pair.Rejoin()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// An answer contains data of one server only: of two, one may have lost what it showed.
func TestAnAnswerIsReadOfOneServer(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
	moved := dbtest.Connect(t, database.Options{URL: way.URL})
	log := start(t, moved, journal.Options{Barrier: true, PollInterval: time.Hour})
	before, across := log.Reading(t.Context()), log.Reading(t.Context())
	read(t, before, db)
	read(t, across, db)
	former := pair.Primary()
	pair.Promote()
	if err := way.Lead(pair.URL(pair.Primary())); err != nil {
		t.Fatal(err)
	}
	if !polling.Until(time.Minute, func() bool { return moved.Read().QueryRowContext(t.Context(), `select 1`).Err() == nil }) {
		t.Fatal("the new primary is out of reach")
	}
	read(t, across, moved)
	for name, ctx := range map[string]context.Context{"before the failover": before, "before and after it": across} {
		if err := log.Settled(ctx); err == nil || !database.Refused(err) {
			t.Errorf("what was read %s may be shown: %v", name, err)
		}
	}
	after := log.Reading(t.Context())
	read(t, after, moved)
	if err := log.Settled(after); err != nil {
		t.Errorf("what was read after it is refused: %v", err)
	}
	pair.Kill(former)
}

// Data on a standby is not lost with the primary, and nothing needs to be written there.
func TestAStandbyIsRead(t *testing.T) {
	t.Parallel()
	pair, _ := replicated(t)
	way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
	db := dbtest.Connect(t, database.Options{URL: way.URL})
	log := start(t, db, journal.Options{Barrier: true, PollInterval: time.Hour})
	if err := way.Lead(pair.URL(pair.Standby())); err != nil {
		t.Fatal(err)
	}
	if !polling.Until(time.Minute, func() bool { return db.Read().QueryRowContext(t.Context(), `select 1`).Err() == nil }) {
		t.Fatal("the standby is out of reach")
	}
	ctx := log.Reading(t.Context())
	read(t, ctx, db)
	if err := log.Settled(ctx); err != nil {
		t.Error(err)
	}
}

// An operator interrupts the wait of a batch without events: its rows are visible on the primary. No process publishes
// them before the standby has them.
func TestABatchWithoutEventsWhoseWaitWasBrokenOffIsNotAnswered(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	opts := journal.Options{Barrier: true, PollInterval: time.Hour}
	writer, other := start(t, db, opts), start(t, dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())}), opts)
	if _, err := other.Append(t.Context(), journal.Event{Type: "its own"}); err != nil {
		t.Fatal(err)
	}
	pair.Isolate()
	written := make(chan error, 1)
	go func() {
		_, err := writer.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, noteHead.Exec(ctx, tx, []any{"someone", int64(7)})
		})
		written <- err
	}()
	visible := func() bool {
		return ask(t, db, `select count(*) from journal_sequences where session_id = 'someone'`) == 1
	}
	if !polling.Until(time.Minute, func() bool { return waits(t, db) == 1 }) {
		t.Fatal("the batch does not wait for the standby")
	}
	pair.Do(`select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
	if !polling.Until(time.Minute, visible) {
		t.Fatal("the rows of the batch are not visible")
	}
	for name, log := range map[string]*journal.Journal{"the process itself": writer, "another process": other} {
		ctx := log.Reading(journal.Patient(t.Context(), 50*time.Millisecond))
		read(t, ctx, db)
		if err := log.Settled(ctx); !database.Refused(err) {
			t.Errorf("%s may show what the standby does not have: %v", name, err)
		}
	}
	select {
	case err := <-written:
		t.Errorf("the batch is acknowledged although the standby does not have it: %v", err)
	default:
	}
	pair.Rejoin()
	if err := <-written; err != nil {
		t.Error(err)
	}
	ctx := other.Reading(t.Context())
	read(t, ctx, db)
	if err := other.Settled(ctx); err != nil {
		t.Error(err)
	}
}

// A process need not wait again for its own writes, with or without events.
func TestWhatAProcessHasWrittenIsKnownToSurvive(t *testing.T) {
	t.Parallel()
	pair, db := replicated(t)
	log := start(t, db, journal.Options{Barrier: true, PollInterval: time.Hour})
	if _, err := log.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, noteHead.Exec(ctx, tx, []any{"someone", int64(7)})
	}); err != nil {
		t.Fatal(err)
	}
	pair.Isolate()
	ctx := log.Reading(journal.Patient(t.Context(), time.Minute))
	read(t, ctx, db)
	if err := log.Settled(ctx); err != nil {
		t.Error(err)
	}
	pair.Rejoin()
}
