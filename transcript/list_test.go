package transcript

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// anyText returns a text full of characters that JSON escapes.
func anyText(random *rand.Rand) string {
	chunks := []string{"a", " word", "\"", "\\", "\n", "\r", "\t", "\b", "\f", "\x00", "\x01", "\x1f", "é", "\u2028",
		"\u2029", "\ufffd", "😀", "<&>", `,"entry":`, `,"startedAt":1`, `\u0041`, "}", "{"}
	var b strings.Builder
	for range random.IntN(6) {
		b.WriteString(chunks[random.IntN(len(chunks))])
	}
	return b.String()
}

func anyEntry(random *rand.Rand) Entry {
	e := Entry{MessageID: anyText(random), TurnID: anyText(random), Role: anyText(random), Type: anyText(random),
		Content: anyText(random), Status: []Status{Streaming, Complete, Canceled, Failed}[random.IntN(4)]}
	if random.IntN(2) == 0 {
		details := anyText(random)
		e.Details = &details
	}
	if random.IntN(2) == 0 {
		e.StartedAt = instant(random.Int64N(5) - 2)
	}
	if random.IntN(2) == 0 {
		e.CompletedAt = instant(random.Int64())
	}
	return e
}

func TestDecodingUndoesEncoding(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		entry := anyEntry(random)
		encoded := string(entry.AppendJSON(nil))
		update, _ := entry.AppendUpdate(nil, anyText(random))
		for _, stored := range []string{encoded, string(update)} {
			got, err := decodeEntry(cutEntry(stored))
			if err != nil || !got.Equal(entry) {
				t.Fatalf("%s became %+v, %v", stored, got, err)
			}
		}
		cut := encoded[:random.IntN(len(encoded))]
		if _, err := decodeEntry(cut); err == nil {
			t.Fatalf("half an entry was taken: %s", cut)
		}
	}
}

// Whatever happens to the entries between the read and the answer, the answer equals their encoding.
func TestAnswersFromStoredJSONAreTheSame(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	copied := 0
	for range 3000 {
		var read []Entry
		var all Encodings
		for range random.IntN(8) {
			entry := anyEntry(random)
			known := encoding{of: entry}
			if random.IntN(5) > 0 {
				known.json = string(entry.AppendJSON(nil))
				copied++
			}
			read, all = append(read, entry), append(all, known)
		}
		shown := slices.Clone(read)
		for range random.IntN(3) {
			at := random.IntN(len(shown) + 1)
			switch {
			case random.IntN(3) == 0 || at == len(shown):
				shown = slices.Insert(shown, at, anyEntry(random))
			case random.IntN(2) == 0:
				shown = slices.Delete(shown, at, at+1)
			default:
				settle(&shown[at], TurnTimes{StartedAt: 7, CompletedAt: 9}, true)
				shown[at].Content += anyText(random)
			}
		}
		want := []byte{'['}
		for i := range shown {
			if i > 0 {
				want = append(want, ',')
			}
			want = shown[i].AppendJSON(want)
		}
		want = append(want, ']')
		if got := all.AppendJSON(nil, shown); string(got) != string(want) || !json.Valid(got) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
	if copied == 0 {
		t.Fatal("the test has no point")
	}
}

// kept is a store with a journal that copies the content of entries before it prunes.
type kept struct {
	*testing.T
	db  *database.DB
	log *journal.Journal
}

func newKept(t *testing.T, db *database.DB) kept {
	t.Helper()
	log := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if err := log.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Stop(t.Context()) })
	return kept{t, db, log}
}

// upsert upserts entries like clients, with one event each.
func (k kept) upsert(entries ...Entry) {
	k.Helper()
	_, err := k.log.Commit(k.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var events []journal.Event
		var puts []Put
		for i := range entries {
			update, _ := entries[i].AppendUpdate(nil, "s")
			puts = append(puts, Put{SessionID: "s", Entry: entries[i], Pos: journal.NextPos(ctx) + int64(len(events))})
			events = append(events, journal.Event{SessionID: "s", ItemID: database.EncodeText(entries[i].MessageID),
				Type: "transcript_updated", Payload: update})
		}
		return events, Store{}.UpsertAll(ctx, tx, puts)
	})
	if err != nil {
		k.Fatal(err)
	}
}

// read reads the transcript in every available way.
func (k kept) read() []Entry {
	k.Helper()
	var entries []Entry
	var shown []string
	err := Store{}.EachPage(k.Context(), k.db.Read(), "s", func(page []Entry, encodings Encodings) error {
		entries = append(entries, page...)
		shown = append(shown, strings.Trim(string(encodings.AppendJSON(nil, page)), "[]"))
		return nil
	})
	if err != nil {
		k.Fatal(err)
	}
	window, err := Store{}.Window(k.Context(), k.db.Read(), "s", Window{Limit: 1000})
	if err != nil || len(window.Entries) != len(entries) {
		k.Fatalf("%d entries, in a window %d, %v", len(entries), len(window.Entries), err)
	}
	var encoded []byte
	for i := range entries {
		found, there, err := Store{}.Find(k.Context(), k.db.Read(), "s", entries[i].MessageID)
		if err != nil || !there || !found.Equal(entries[i]) || !window.Entries[i].Equal(entries[i]) {
			k.Fatalf("entry %d is %+v, found %+v, in a window %+v, %v", i, entries[i], found, window.Entries[i], err)
		}
		encoded = entries[i].AppendJSON(append(encoded, ','))
	}
	if got := strings.Join(shown, ","); got != strings.TrimPrefix(string(encoded), ",") {
		k.Errorf("encoded as %s", got)
	}
	return entries
}

// rows counts the rows with their own text, and those that refer to an event.
func (k kept) rows() (own, refer, columns int) {
	k.Helper()
	if err := k.db.Read().QueryRowContext(k.Context(),
		`select count(encoded), count(event_pos), sum(case when content <> '' or details is not null then 1 else 0 end)
		from transcript_entries`).Scan(&own, &refer, &columns); err != nil {
		k.Fatal(err)
	}
	return own, refer, columns
}

// The content of an entry is only in its event, until the event is pruned.
func TestContentIsStoredOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKept(t, db)
		k.log.BeforePrune(Store{}.KeepPruned)
		details := "more"
		first := Entry{MessageID: "a", TurnID: "t", Role: "system", Type: "x", Content: "the \x00 \u2028 first",
			Details: &details, Status: Complete}
		second := Entry{MessageID: "b\x00", TurnID: "t", Role: "system", Type: "x", Content: "second", Status: Streaming,
			StartedAt: instant(5)}
		k.upsert(first, second)
		if own, refer, columns := k.rows(); own != 0 || refer != 2 || columns != 0 {
			t.Errorf("%d rows have a text of their own, %d refer to events, %d have columns", own, refer, columns)
		}
		before := k.read()

		// If an upsert omits the details, the stored ones stay, and the event no longer has the whole entry. The event
		// of the other entry does.
		again, final := first, second
		again.Details, again.Content = nil, "again"
		final.Content, final.Status = "final", Complete
		k.upsert(again)
		k.upsert(final)
		if own, refer, _ := k.rows(); own != 1 || refer != 1 {
			t.Errorf("%d rows have a text of their own, %d refer to events", own, refer)
		}
		after := k.read()
		if after[0].Content != "again" || after[0].Details == nil || after[1].Content != "final" ||
			before[1].Content != "second" {
			t.Errorf("read %+v", after)
		}
		events, err := k.log.Read(t.Context(), journal.Query{})
		if err != nil || !strings.Contains(string(events[1].Payload), `"content":"second"`) {
			t.Errorf("the event before was changed: %s, %v", events[1].Payload, err)
		}

		k.upsert(Entry{MessageID: "c", TurnID: "t", Role: "system", Type: "x", Content: "last", Status: Complete})
		whole := k.read()
		if deleted, err := k.log.Prune(t.Context(), 1); err != nil || deleted != 4 {
			t.Fatalf("pruned %d, %v", deleted, err)
		}
		if own, refer, _ := k.rows(); own != 2 || refer != 1 {
			t.Errorf("%d rows have a text of their own, %d refer to events", own, refer)
		}
		if got := k.read(); !slices.EqualFunc(got, whole, Entry.Equal) {
			t.Errorf("pruning made %+v of %+v", got, whole)
		}
		k.upsert(final)
		if got := k.read(); !slices.EqualFunc(got, whole, Entry.Equal) {
			t.Errorf("an upsert that changes nothing made %+v", got)
		}
	})
}

// Entries stored before migration 0017 can be read and changed.
func TestEntriesOfBeforeAreRead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKept(t, db)
		k.upsert(Entry{MessageID: "new", TurnID: "t", Role: "system", Type: "x", Content: "new", Status: Complete})
		if err := db.Update(t.Context(), func(tx database.Tx) error {
			for i, id := range []string{"old-1", "old-2\x00"} {
				if _, err := tx.ExecContext(t.Context(), `insert into transcript_entries
					(session_id, message_id, ordinal, turn_id, role, type, content, details, status, started_at, completed_at, place)
					values ('s', $1, $2, 't', 'assistant', 'y', $3, $4, 'complete', 1, null, $2)`,
					database.EncodeText(id), i+10, database.EncodeText("a \x00 text"), database.EncodeText("\x01")); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, 1} {
			if got := k.read(); len(got) != 3 || got[at].Content != "a \x00 text" || *got[at].Details != "\x01" ||
				*got[at].StartedAt != 1 || got[2].Content != "new" {
				t.Fatalf("read %+v", got)
			}
		}
		k.upsert(Entry{MessageID: "old-1", TurnID: "t", Role: "assistant", Type: "y", Content: "changed", Status: Complete})
		if got := k.read(); got[0].Content != "changed" || *got[0].Details != "\x01" || got[1].Content != "a \x00 text" {
			t.Errorf("read %+v", got)
		}
		if own, refer, columns := k.rows(); own != 1 || refer != 1 || columns != 1 {
			t.Errorf("%d rows have a text of their own, %d refer to events, %d have columns", own, refer, columns)
		}
	})
}

// Units of one transaction read what earlier units stored, although those units' events are written after the last
// unit.
func TestAUnitReadsTheUpsertsOfTheUnitBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		k := newKept(t, db)
		details := "kept"
		first := Entry{MessageID: "m", TurnID: "t", Role: "system", Type: "x", Content: "first", Details: &details,
			Status: Streaming}
		second := Entry{MessageID: "m", TurnID: "t", Role: "system", Type: "x", Content: "second", Status: Complete}
		// The first unit waits until the others are queued behind it, so that they share the next transaction.
		queued, ran := make(chan struct{}), make(chan error, 3)
		report := func(_ []journal.Record, err error) { ran <- err }
		submit := func(unit journal.Unit) {
			t.Helper()
			if err := k.log.Submit(t.Context(), unit, report); err != nil {
				t.Fatal(err)
			}
		}
		submit(func(context.Context, database.Tx) ([]journal.Event, error) {
			<-queued
			return nil, nil
		})
		var positions []int64
		shared := false
		for _, entry := range []Entry{first, second} {
			submit(func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				positions = append(positions, journal.NextPos(ctx))
				_, unwritten := journal.UnwrittenPayload(ctx, positions[0])
				shared = shared || unwritten
				update, _ := entry.AppendUpdate(nil, "s")
				event := journal.Event{SessionID: "s", ItemID: "m", Type: "transcript_updated", Payload: update}
				return []journal.Event{event}, Store{}.UpsertAll(ctx, tx,
					[]Put{{SessionID: "s", Entry: entry, Pos: journal.NextPos(ctx)}})
			})
		}
		close(queued)
		for range 3 {
			if err := <-ran; err != nil {
				t.Fatal(err)
			}
		}
		if positions[1] != positions[0]+1 || !shared {
			t.Fatalf("positions %v; in one transaction: %t", positions, shared)
		}
		second.Details = &details // omitted, so it stays
		if got := k.read(); len(got) != 1 || !got[0].Equal(second) {
			t.Errorf("got %+v", got)
		}
	})
}
