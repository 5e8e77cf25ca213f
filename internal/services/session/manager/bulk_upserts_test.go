package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/transcript"
)

// busy queues a unit of bulk upserts that waits for a blocked writer.
func (k *kit) busy(sessionID string) (result chan error) {
	k.t.Helper()
	u := &upsert{ctx: k.t.Context(), sessionID: sessionID, entries: numbered("first", 2), result: make(chan error, 1)}
	u.encode(1)
	if !k.Service.Upserter.bulk.add(u) {
		k.t.Fatal("the lane is closed")
	}
	k.eventually("the lane is busy", func() bool { return k.waiting() == 0 })
	return u.result
}

// waiting returns the number of entries that wait in the bulk queue.
func (k *kit) waiting() (entries int) {
	k.Service.Upserter.bulk.mu.Lock()
	defer k.Service.Upserter.bulk.mu.Unlock()
	for _, u := range k.Service.Upserter.bulk.waiting {
		entries += len(u.entries) - u.stored
	}
	return entries
}

func numbered(prefix string, n int) []transcript.Entry {
	entries := make([]transcript.Entry, n)
	for i := range entries {
		entries[i] = transcript.Entry{MessageID: fmt.Sprintf("%s-%d", prefix, i), TurnID: "ci", Role: "system",
			Type: "ci.log", Status: transcript.Complete}
	}
	return entries
}

// noneAdmitted checks that all bulk upserts have left the queue, and that none needs completion.
func (k *kit) noneAdmitted() {
	k.t.Helper()
	if !k.Service.Upserter.upserts.many.TryAcquire(maxManyEntries) {
		k.t.Error("an upsert that is over holds its place")
	}
	k.Service.Upserter.upserts.many.Release(maxManyEntries)
	var rows int
	if err := k.db.Read().QueryRowContext(k.t.Context(), `select count(*) from bulk_upserts`).Scan(&rows); err != nil ||
		rows != 0 {
		k.t.Errorf("%d rows of upserts that are over, %v", rows, err)
	}
}

// Bulk upserts that share a unit succeed or fail separately. An upsert for a missing session is refused as a whole.
// One that makes the unit fail does not affect the others.
func TestBulkUpsertsOfOneUnitShareNoFate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		fates := k.fates()
		for round := range 2 {
			release := hold(t, k.log)
			first := k.busy(fates.kept)
			fates.upsert(k, numbered(fmt.Sprint("r", round), 20), func(n int) {
				k.eventually("it waits", func() bool { return k.waiting() == 20*n })
			})
			release()
			k.do(<-first)
			fates.check(k)
			if stored, events := len(k.stored(fates.kept)), len(k.events("transcript_updated")); stored != 20*(round+1)+2 ||
				events != 22*(round+1) {
				t.Errorf("round %d: %d entries, %d events", round, stored, events)
			}
		}
		k.noneAdmitted()
	})
}

// However many upserts of 1,000 entries arrive, two are admitted at a time. The entries of each stay together and in
// order. An upsert that is canceled while it waits stores nothing. A single entry waits for at most one part of
// theirs.
func TestSingleUpsertsPassBulkOnes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		release := hold(t, k.log)
		results := make(chan error, 3)
		upsert := func(ctx context.Context, prefix string, n int) {
			_, err := k.UpsertTranscripts(ctx, s.ID, numbered(prefix, n))
			results <- err
		}
		first := k.busy(s.ID)
		for i := range 2 {
			go upsert(t.Context(), fmt.Sprint("bulk", i), 1000)
			k.eventually("it waits", func() bool { return k.waiting() == 1000*(i+1) })
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := k.UpsertTranscripts(ctx, s.ID, numbered("late", 1000)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the third: %v", err)
		}
		go upsert(t.Context(), "single", 1)
		k.joined(1)
		release()
		k.do(<-first)
		for range 3 {
			k.do(<-results)
		}
		k.noneAdmitted()
		var order []string
		for _, record := range k.events("transcript_updated") {
			order = append(order, record.ItemID)
		}
		single := slices.Index(order, "single-0")
		if single < 0 || single > maxBulk {
			t.Fatalf("the single entry comes after %d others", single)
		}
		order = slices.Delete(order, single, single+1)[2:]
		for i, id := range order {
			if want := fmt.Sprintf("bulk%d-%d", i/1000, i%1000); id != want {
				t.Fatalf("event %d is of %s, not %s", i, id, want)
			}
		}
		if len(order) != 2000 {
			t.Errorf("%d events", len(order))
		}
	})
}

// A unit takes as many whole upserts as fit, or a part of one that exceeds a unit.
func TestBulkUpsertPartsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBulkUpserts()
	add := func(n, bytes int) *upsert {
		u := &upsert{ctx: t.Context(), sessionID: "s", entries: numbered("m", n)}
		for i := range u.entries {
			u.entries[i].Content = strings.Repeat("x", bytes)
		}
		u.encode(1)
		b.add(u)
		return u
	}
	left, leave := context.WithCancel(t.Context())
	add(200, 1)
	add(56, 1)
	add(2, 1).ctx = left
	leave()
	big := add(300, 1)
	add(5, 1)
	add(3, maxBulkBytes/2)
	add(1, maxBulkBytes*2)
	for step, want := range [][]int{{200, 56}, {256}, {44, 5}, {2}, {1}, {1}, {32}, {32}, {32}, {}} {
		if step == 6 { // from here on, single upserts arrive too
			later := time.Now().Add(time.Hour)
			b.single.Store(&later)
			add(96, 1)
		}
		parts, gone := b.next()
		var got []int
		for _, p := range parts {
			got = append(got, len(p.entries))
			p.whole.stored = p.to
			if p.to < len(p.whole.entries) {
				b.waiting = slices.Insert(b.waiting, 0, p.whole)
			}
		}
		if !slices.Equal(got, want) || (len(gone) == 1) != (step == 0) {
			t.Fatalf("unit %d has %v, not %v; %d left", step, got, want, len(gone))
		}
	}
	if big.stored != 300 {
		t.Errorf("%d are stored", big.stored)
	}
}

// cutShort stores the first part of an upsert of 300 entries, like a server that is then killed.
func (k *kit) cutShort(sessionID string) {
	k.t.Helper()
	u := &upsert{ctx: k.t.Context(), sessionID: sessionID, entries: numbered("m", 300), result: make(chan error, 1)}
	u.entries[299].Content = "the \x00last\u2028\"one\""
	u.encode(77)
	for i := range u.events {
		u.events[i].Actor, u.events[i].TraceID, u.events[i].SpanID = "actor", "trace", "span"
	}
	p := []upsertPart{u.part(u.reach(maxBulk))}
	k.do(k.journal.Do(k.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return k.Service.Upserter.upsertParts(ctx, tx, p)
	}))
}

// A server killed between two parts of an upsert completes it when it restarts, with the request's trace and time. It
// does not if the session was deleted by then.
func TestBulkUpsertsAreCompletedAfterAKill(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		kept, deleted := k.create(), k.create()
		for _, s := range []session.Session{kept, deleted} {
			k.cutShort(s.ID)
		}
		if stored := len(k.stored(kept.ID)); stored != maxBulk {
			t.Fatalf("%d entries are stored at once", stored)
		}
		_, err := k.db.Raw().ExecContext(t.Context(), `delete from sessions where id = $1`, deleted.ID)
		k.do(err)
		k = k.reopen().reopen() // the second start has nothing to do
		k.noneAdmitted()
		stored := k.stored(kept.ID)
		if len(stored) != 300 || stored[299].Content != "the \x00last\u2028\"one\"" {
			t.Errorf("%d entries are stored, the last is %+v", len(stored), stored[len(stored)-1])
		}
		events := 0
		for _, record := range k.events("transcript_updated") {
			if record.SessionID != kept.ID {
				continue
			}
			if record.ItemID != fmt.Sprintf("m-%d", events) || record.Time != 77 || record.Actor != "actor" ||
				record.TraceID != "trace" || record.SpanID != "span" {
				t.Fatalf("event %d is %+v", events, record)
			}
			events++
		}
		if events != 300 {
			t.Errorf("%d events", events)
		}
	})
}

// Deleting a session also deletes the rest of an upsert.
func TestDeletingASessionEndsItsBulkUpserts(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.cutShort(s.ID)
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		k.noneAdmitted()
	})
}
