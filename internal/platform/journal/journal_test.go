package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

func start(t *testing.T, db *database.DB, opts journal.Options) *journal.Journal {
	t.Helper()
	opts.Logger = zerolog.New(zerolog.NewTestWriter(t))
	j := journal.New(db, opts)
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, j) })
	return j
}

func stop(t *testing.T, j *journal.Journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := j.Stop(ctx); err != nil {
		t.Errorf("stop the journal: %v", err)
	}
}

func readAll(t *testing.T, j *journal.Journal) []journal.Record {
	t.Helper()
	var all []journal.Record
	after := int64(0)
	for {
		page, err := j.Read(t.Context(), journal.Query{After: after, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Pos
	}
}

// requireGapFree checks pos from 1 and every session's seq from 1, without gaps or repeats, in the order read (EV-02).
func requireGapFree(t *testing.T, records []journal.Record) {
	t.Helper()
	seqs := map[string]int64{}
	for i, r := range records {
		if r.Pos != int64(i+1) {
			t.Fatalf("record %d has pos %d", i, r.Pos)
		}
		seqs[r.SessionID]++
		if r.Seq != seqs[r.SessionID] {
			t.Fatalf("pos %d: session %q has seq %d, want %d", r.Pos, r.SessionID, r.Seq, seqs[r.SessionID])
		}
	}
}

func TestAppendKeepsTheEventByteForByte(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{Now: func() time.Time { return time.UnixMilli(1234) }})
		payload := json.RawMessage(`{"b" : 1.0, "a":"é\u0000\u2028 <&>", "n":12345678901234567890}`)
		want := journal.Event{
			SessionID: "s", TurnID: "t", ItemID: "i", Type: "runtime.notification", Source: "codex", Actor: "ann",
			Broadcast: true, TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", SpanID: "00f067aa0ba902b7",
			Meta: json.RawMessage(`{"x": 1}`), Payload: payload,
		}
		written, err := j.Append(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		read := readAll(t, j)
		if len(read) != 1 || len(written) != 1 {
			t.Fatalf("wrote %d, read %d", len(written), len(read))
		}
		want.Time = 1234
		for _, got := range []journal.Record{written[0], read[0]} {
			if string(got.Payload) != string(payload) || string(got.Meta) != `{"x": 1}` {
				t.Errorf("payload %s meta %s", got.Payload, got.Meta)
			}
			if fmt.Sprint(got.Event) != fmt.Sprint(want) || got.Pos != 1 || got.Seq != 1 ||
				got.SchemaVersion != journal.SchemaVersion {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestConcurrentProcessesStayGapFreeAndSubscribersSeeAllInOrder(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		db := dbtest.Open(t, engine)
		journals := []*journal.Journal{start(t, db, journal.Options{PollInterval: 20 * time.Millisecond})}
		if engine == database.Postgres { // several processes share a Postgres; a SQLite store has one owner
			journals = append(journals, start(t, db, journal.Options{PollInterval: 20 * time.Millisecond}),
				start(t, db, journal.Options{PollInterval: 20 * time.Millisecond}))
		}
		const writers, each = 8, 60
		total := int64(writers * each * len(journals))
		var views []*view
		for _, j := range journals {
			v := newView(total)
			_, cancel := j.Subscribe(v.receive)
			defer cancel()
			views = append(views, v)
		}
		var group sync.WaitGroup
		for n, j := range journals {
			for w := range writers {
				group.Go(func() {
					random := rand.New(rand.NewPCG(uint64(n), uint64(w)))
					for i := range each {
						event := journal.Event{SessionID: fmt.Sprintf("s%d", random.IntN(5)), Type: "x",
							Payload: json.RawMessage(fmt.Sprintf(`"%d-%d-%d"`, n, w, i))}
						if _, err := j.Append(context.Background(), event); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		group.Wait()
		records := readAll(t, journals[0])
		if int64(len(records)) != total {
			t.Fatalf("%d records, want %d", len(records), total)
		}
		requireGapFree(t, records)
		for i, v := range views {
			seen := v.wait(t)
			for k, r := range seen {
				if r.Pos != int64(k+1) || string(r.Payload) != string(records[k].Payload) {
					t.Fatalf("subscriber %d: record %d is pos %d %s", i, k, r.Pos, r.Payload)
				}
			}
		}
	})
}

// view collects what a subscriber gets until it has enough.
type view struct {
	mu      sync.Mutex
	want    int64
	records []journal.Record
	full    chan struct{}
}

func newView(want int64) *view { return &view{want: want, full: make(chan struct{})} }

func (v *view) receive(records []journal.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.records = append(v.records, records...)
	if int64(len(v.records)) == v.want {
		close(v.full)
	}
}

func (v *view) wait(t *testing.T) []journal.Record {
	t.Helper()
	select {
	case <-v.full:
	case <-time.After(60 * time.Second):
		t.Fatal("the subscriber did not get every record")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.records
}

func TestFailedOrRefusedUnitAffectsNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		boom, lost := errors.New("boom"), errors.New("lost")
		insert := func(id string) journal.Unit {
			return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				_, err := tx.ExecContext(ctx,
					`insert into deleted_sessions (session_id, title, system_owned, deleted_at) values ($1, '', 0, 0)`, id)
				return []journal.Event{{SessionID: id, Type: "x"}}, err
			}
		}
		units := map[string]journal.Unit{
			"fails after writing": func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				if _, err := insert("undone")(ctx, tx); err != nil {
					return nil, err
				}
				return nil, boom
			},
			"bad sql": func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				_, err := tx.ExecContext(ctx, `insert into no_such_table values (1)`)
				return nil, err
			},
			"refused": func(context.Context, database.Tx) ([]journal.Event, error) { return nil, journal.Refuse(lost) },
			"panics":  func(context.Context, database.Tx) ([]journal.Event, error) { panic("oh") },
		}
		outcomes := make(chan error, 100)
		good := 0
		submit := func(unit journal.Unit) {
			if err := j.Submit(t.Context(), unit, func(_ []journal.Record, err error) { outcomes <- err }); err != nil {
				t.Fatal(err)
			}
		}
		for _, unit := range units { // interleaved, so that good and bad share batches
			submit(insert(fmt.Sprintf("good-%d", good)))
			submit(unit)
			submit(insert(fmt.Sprintf("good-%d", good+1)))
			good += 2
		}
		failures := 0
		sawBoom, sawLost := false, false
		for range good + len(units) {
			err := <-outcomes
			if err != nil {
				failures++
			}
			sawBoom = sawBoom || errors.Is(err, boom)
			sawLost = sawLost || errors.Is(err, lost)
		}
		if failures != len(units) || !sawBoom || !sawLost {
			t.Fatalf("%d failures (want %d), boom %v, lost %v", failures, len(units), sawBoom, sawLost)
		}
		records := readAll(t, j)
		requireGapFree(t, records)
		if len(records) != good {
			t.Fatalf("%d records, want %d", len(records), good)
		}
		var undone int
		if err := db.Read().QueryRowContext(t.Context(), `select count(*) from deleted_sessions where session_id = 'undone'`).
			Scan(&undone); err != nil || undone != 0 {
			t.Fatalf("a failed unit left %d rows (%v)", undone, err)
		}
	})
}

func TestSubmitKeepsItsOrderAndUnitsAreACompareAndSet(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		noteAccepted := errors.New("taken")
		take := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			var n int
			if err := tx.QueryRowContext(ctx, `select count(*) from deleted_sessions`).Scan(&n); err != nil {
				return nil, err
			}
			if n > 0 {
				return nil, journal.Refuse(noteAccepted)
			}
			_, err := tx.ExecContext(ctx,
				`insert into deleted_sessions (session_id, title, system_owned, deleted_at) values ('one', '', 0, 0)`)
			return []journal.Event{{Type: "taken"}}, err
		}
		outcomes := make(chan error, 64)
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() {
				_, err := j.Commit(context.Background(), take)
				outcomes <- err
			})
		}
		group.Wait()
		winners := 0
		for range 64 {
			if err := <-outcomes; err == nil {
				winners++
			} else if !errors.Is(err, noteAccepted) {
				t.Error(err)
			}
		}
		if winners != 1 {
			t.Fatalf("%d winners", winners)
		}
		for i := range 200 {
			unit := func(context.Context, database.Tx) ([]journal.Event, error) {
				return []journal.Event{{SessionID: "order", Type: "x", Payload: json.RawMessage(fmt.Sprint(i))}}, nil
			}
			if err := j.Submit(t.Context(), unit, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := j.Append(t.Context(), journal.Event{Type: "last"}); err != nil {
			t.Fatal(err)
		}
		records, err := j.ReadSession(t.Context(), "order", 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range records {
			if string(r.Payload) != fmt.Sprint(i) {
				t.Fatalf("record %d is %s", i, r.Payload)
			}
		}
		if len(records) != 200 {
			t.Fatalf("%d records", len(records))
		}
	})
}

func TestReadsSelectOneSessionWithGlobalsAndBroadcasts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		events := []journal.Event{{SessionID: "a", Type: "1"}, {SessionID: "b", Type: "2"}, {Type: "3"},
			{SessionID: "b", Type: "4", Broadcast: true}, {SessionID: "a", Type: "5"}}
		if _, err := j.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		types := func(records []journal.Record, err error) (out string) {
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				out += r.Type
			}
			return out
		}
		if got := types(j.Read(t.Context(), journal.Query{Session: "a"})); got != "1345" {
			t.Errorf("session a with globals and broadcasts: %s", got)
		}
		if got := types(j.Read(t.Context(), journal.Query{After: 2, Limit: 2})); got != "34" {
			t.Errorf("two after 2: %s", got)
		}
		if got := types(j.ReadSession(t.Context(), "b", 1, 10)); got != "4" {
			t.Errorf("session b after seq 1: %s", got)
		}
	})
}

func TestEventsSayWhereTheyCameFrom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		type key struct{}
		j := start(t, db, journal.Options{Origin: func(ctx context.Context) journal.Origin {
			origin, _ := ctx.Value(key{}).(journal.Origin)
			return origin
		}})
		ctx := context.WithValue(t.Context(), key{}, journal.Origin{Actor: "ann", TraceID: "t1", SpanID: "s1"})
		if _, err := j.Append(ctx, journal.Event{}, journal.Event{Actor: "bob", TraceID: "t2", SpanID: "s2"}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(t.Context(), journal.Event{}); err != nil {
			t.Fatal(err)
		}
		several := []journal.Event{{}, {Actor: "bob"}}
		j.Attribute(ctx, several)
		if _, err := j.Append(t.Context(), several...); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range readAll(t, j) {
			got += fmt.Sprintf("[%s %s %s]", r.Actor, r.TraceID, r.SpanID)
		}
		if got != "[ann t1 s1][bob t2 s2][  ][ann t1 s1][bob t1 s1]" {
			t.Error(got)
		}
	})
}

func TestRedactKeepsTheOrderAndNothingElse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		said := func(session string) journal.Event {
			return journal.Event{SessionID: session, TurnID: "canary", ItemID: "canary", Type: "x", Actor: "canary",
				Meta: json.RawMessage(`{"a":"canary"}`), Payload: json.RawMessage(`"canary"`)}
		}
		if _, err := j.Append(t.Context(), said("gone"), said("kept"), said("gone")); err != nil {
			t.Fatal(err)
		}
		_, err := j.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return []journal.Event{{SessionID: "gone", Type: "session_deleted"}}, journal.Redact(ctx, tx, "gone")
		})
		if err != nil {
			t.Fatal(err)
		}
		records := readAll(t, j)
		requireGapFree(t, records)
		for i, want := range []string{journal.EventRedacted, "x", journal.EventRedacted, "session_deleted"} {
			left := strings.Contains(fmt.Sprintf("%+v %s %s", records[i].Event, records[i].Meta, records[i].Payload), "canary")
			if records[i].Type != want || left != (want == "x") {
				t.Errorf("event %d: %+v", i, records[i])
			}
		}
	})
}

func TestOldEventsAreUpcastWhenRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{Upcast: func(version int, event journal.Event) journal.Event {
			event.Type = fmt.Sprintf("upcast from %d", version)
			return event
		}})
		if _, err := j.Append(t.Context(), journal.Event{Type: "old"}, journal.Event{Type: "new"}); err != nil {
			t.Fatal(err)
		}
		err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update journal_events set schema_version = 0, checksum = null where pos = 1`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		records := readAll(t, j)
		if records[0].Type != "upcast from 0" || records[0].SchemaVersion != 0 || records[1].Type != "new" {
			t.Fatalf("%+v", records)
		}
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
