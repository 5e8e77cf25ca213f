package manager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/tests/dbtest"
	"harness/transcript"
)

// randomEntries returns entries of few messages, so that most update an earlier one.
func randomEntries(random *rand.Rand, n int) []transcript.Entry {
	entries := make([]transcript.Entry, n)
	for i := range entries {
		at := random.Int64N(100)
		entries[i] = transcript.Entry{
			MessageID: fmt.Sprintf("m%d\x00", random.IntN(n)), TurnID: fmt.Sprintf("t%d", random.IntN(3)),
			Role: "assistant", Type: "x", Content: fmt.Sprintf("<%d>\u2028", i),
			Status: []transcript.Status{transcript.Streaming, transcript.Complete,
				transcript.Failed}[random.IntN(3)],
		}
		if random.IntN(2) == 0 {
			entries[i].StartedAt, entries[i].Details = &at, &entries[i].Content
		}
	}
	return entries
}

// Many concurrent entries leave the same transcript and events as sequential ones, except for names and times.
func TestUpsertsAtOnceEqualUpsertsOneByOne(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for _, systemOwned := range []bool{false, true} {
			random := rand.New(rand.NewPCG(5, 6))
			var ids [2]string
			for i := range ids {
				s, err := k.Create(t.Context(), session.Create{SystemOwned: systemOwned})
				k.do(err)
				ids[i] = s.ID
			}
			from := k.log.Head()
			for _, n := range []int{1, 2, 20, 100} {
				entries := randomEntries(random, n)
				var alone []string
				for _, entry := range entries {
					k.do(k.UpsertTranscript(t.Context(), ids[0], entry))
					alone = append(alone, string(entry.AppendJSON(nil)))
				}
				sent, err := k.UpsertTranscripts(t.Context(), ids[1], entries)
				k.do(err)
				if got := fmt.Sprintf("%s", sent); got != fmt.Sprintf("%s", alone) {
					t.Errorf("answered %s\nwant %s", got, alone)
				}
			}
			one, many := k.stored(ids[0]), k.stored(ids[1])
			if !reflect.DeepEqual(one, many) || len(one) < 50 {
				t.Errorf("one by one %d entries, at once %d", len(one), len(many))
			}
			var events [2][]journal.Record
			for _, record := range k.records() {
				for i, id := range ids {
					if record.SessionID == id && record.Pos > from {
						record.Payload = []byte(strings.ReplaceAll(string(record.Payload), id, "ID"))
						record.SessionID, record.Pos, record.Time = "", 0, 0
						events[i] = append(events[i], record)
					}
				}
			}
			if len(events[0]) != 123 || !reflect.DeepEqual(events[0], events[1]) {
				t.Errorf("one by one %d events, at once %d:\n%+v\n%+v", len(events[0]), len(events[1]), events[0][0], events[1][0])
			}
		}
	})
}

// hold blocks the writer: everything submitted until release runs together.
func hold(t *testing.T, log *journal.Journal) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	if err := log.Submit(t.Context(), func(context.Context, database.Tx) ([]journal.Event, error) {
		once.Do(func() { close(begun) })
		<-end
		return nil, nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	return func() { close(end) }
}

// joined waits until the open unit has this many single upserts.
func (k *kit) joined(entries int) {
	k.t.Helper()
	k.eventually("the upserts join", func() bool {
		k.Service.Upserter.upserts.mu.Lock()
		defer k.Service.Upserter.upserts.mu.Unlock()
		return k.Service.Upserter.upserts.open != nil && len(k.Service.Upserter.upserts.open.all) == entries
	})
}

// fates holds the results of upserts to an existing, a deleted and an unknown session.
type fates struct {
	kept, deleted, unknown string
	ends                   map[string]chan error
}

func (k *kit) fates() fates {
	k.t.Helper()
	f := fates{kept: k.create().ID, deleted: k.create().ID, unknown: ids.New(), ends: map[string]chan error{}}
	_, err := k.Delete(k.t.Context(), f.deleted)
	k.do(err)
	return f
}

// upsert writes the entries to each session, one by one; it waits after the n-th one.
func (f fates) upsert(k *kit, entries []transcript.Entry, wait func(n int)) {
	k.t.Helper()
	for i, id := range []string{f.kept, f.deleted, f.unknown} {
		end := make(chan error, 1)
		f.ends[id] = end
		go func() {
			_, err := k.UpsertTranscripts(k.t.Context(), id, slices.Clone(entries))
			end <- err
		}()
		wait(i + 1)
	}
}

// check waits for all upserts and fails unless each had its own result.
func (f fates) check(k *kit) {
	k.t.Helper()
	k.do(<-f.ends[f.kept])
	var deleted *session.DeletedError
	if err := <-f.ends[f.deleted]; !errors.As(err, &deleted) {
		k.t.Errorf("deleted: %v", err)
	}
	if err := <-f.ends[f.unknown]; !errors.Is(err, session.ErrNotFound) {
		k.t.Errorf("unknown: %v", err)
	}
}

// Upserts that share a unit succeed or fail separately. An upsert for a missing session is refused as a whole; if the
// unit fails, each is tried alone.
func TestUpsertsOfOneUnitShareNoFate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fates := k.fates()
		random := rand.New(rand.NewPCG(7, 8))
		for round, spoiled := range []bool{false, true} {
			release := hold(t, k.log)
			entries := randomEntries(random, 1)
			entries[0].MessageID = fmt.Sprintf("r%d", round)
			fates.upsert(k, entries, func(n int) { k.joined(n) })
			if spoiled {
				k.do(k.log.Submit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
					return nil, errors.Join(store.UpdateSession(ctx, tx, fates.kept, `title = 'spoiled'`), errors.New("spoiled"))
				}, nil))
			}
			release()
			fates.check(k)
			if stored, events := len(k.stored(fates.kept)), len(k.events("transcript_updated")); stored != round+1 ||
				events != round+1 {
				t.Errorf("round %d: %d entries, %d events", round, stored, events)
			}
		}
		k.noneAdmitted()
	})
}

// A unit of single upserts stays within its limit, unless one upsert alone exceeds it.
func TestUnitsOfUpsertsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		release := hold(t, k.log)
		random := rand.New(rand.NewPCG(9, 10))
		var group sync.WaitGroup
		put := func(entry transcript.Entry, open int) {
			t.Helper()
			group.Go(func() {
				if err := k.UpsertTranscript(t.Context(), s.ID, entry); err != nil {
					t.Error(err)
				}
			})
			k.joined(open)
		}
		for i := range maxGathered {
			put(randomEntries(random, 1)[0], i+1)
		}
		put(randomEntries(random, 1)[0], 1)
		put(randomEntries(random, 1)[0], 2)
		huge := randomEntries(random, 1)[0]
		huge.Content = strings.Repeat("x", maxGatheredBytes)
		put(huge, 1)
		release()
		group.Wait()
		if events := len(k.events("transcript_updated")); events != maxGathered+3 {
			t.Errorf("%d events", events)
		}
	})
}

// Upserts that share a unit each keep their own trace and actor (EV-01).
func TestUpsertsOfOneUnitKeepTheirTraces(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		type key struct{}
		log := journal.New(db, journal.Options{Logger: zerolog.Nop(), Origin: func(ctx context.Context) journal.Origin {
			origin, _ := ctx.Value(key{}).(journal.Origin)
			return origin
		}})
		if err := log.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		k := &kit{t: t, fake: &fake{generation: ids.New()}, log: log}
		k.Service = New(Options{Journal: log, DB: db, Runtimes: registry.Options{Adapters: []runtime.Adapter{k.fake}},
			NodeOptions: NodeOptions{NodeID: "node"},
			Defaults:    testControls, WorkspaceRoot: "/repo", Logger: zerolog.Nop()})
		k.flat = flatOf(k.Service)
		k.Unusable = func(string) string { return "" }
		k.fake.sink = k.Sink("codex")
		k.do(k.Start(t.Context()))
		t.Cleanup(k.close)
		k.fake.started(k.fake.generation)
		s := k.create()
		release := hold(t, log)
		var group sync.WaitGroup
		want := ""
		for i := range 3 {
			ctx := t.Context()
			if i != 1 {
				trace := fmt.Sprint("trace-", i)
				ctx = context.WithValue(ctx, key{}, journal.Origin{Actor: "actor", TraceID: trace, SpanID: "s"})
				want += trace
			}
			want += "," + fmt.Sprint(i) + ";"
			group.Go(func() {
				if err := k.UpsertTranscript(ctx, s.ID,
					transcript.Entry{MessageID: fmt.Sprint(i), Status: transcript.Complete}); err != nil {
					t.Error(err)
				}
			})
			k.joined(i + 1)
		}
		release()
		group.Wait()
		got := ""
		for _, record := range k.events("transcript_updated") {
			got += record.TraceID + "," + record.ItemID + ";"
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
