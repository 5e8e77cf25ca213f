package manager

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/retention"
	"harness/transcript"
)

const day = 24 * time.Hour

// later moves the Service's clock ahead of all earlier events.
func (k *kit) later(by time.Duration) { k.ahead.Add(int64(by)) }

// prune prunes and returns the number of removed rows by kind.
func (k *kit) prune(keep retention.Policy) map[string]int64 {
	k.t.Helper()
	k.flush()
	gone := map[string]int64{}
	k.do(retention.Prune(k.t.Context(), k.log, k.db, k.opts.Clock(), keep, func(kind string, rows int64) { gone[kind] += rows }))
	return gone
}

// number returns the result of a counting query.
func (k *kit) number(query string, args ...any) (n int) {
	k.t.Helper()
	k.do(k.db.Read().QueryRowContext(k.t.Context(), query, args...).Scan(&n))
	return n
}

// played runs a turn of two messages, numbered by i.
func (k *kit) played(session string, i int) (turn string) {
	k.t.Helper()
	turn = k.send(session)
	for _, role := range []string{"user", "assistant"} {
		k.fake.item(session, turn, runtime.Item{ID: fmt.Sprintf("%s-%d", role, i), Role: role, Type: role, Content: "words",
			Native: []byte(`{"text":"words"}`)}, true)
	}
	k.end(session, turn)
	return turn
}

// defaults returns the default policy of the settings.
func defaults() retention.Policy {
	return retention.Policy{Records: 90 * day, MaxRecords: 100_000, Archived: 365 * day}
}

// With the default settings, nothing is removed from a session that is not archived, however old it is.
func TestLiveSessionsAreKept(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		k.played(s.ID, 1)
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "note", Role: "system", Type: "note",
			Status: transcript.Complete}))
		before := k.read(s.ID, session.Reading{})
		k.later(5 * 365 * day)
		if gone := k.prune(defaults()); len(gone) > 0 {
			t.Errorf("pruned %v", gone)
		}
		if after := k.read(s.ID, session.Reading{}); !slices.Equal(entryIDs(before.Transcript), entryIDs(after.Transcript)) ||
			before.Version != after.Version {
			t.Errorf("shows %v, version %s; before %v, %s", entryIDs(after.Transcript), after.Version, entryIDs(before.Transcript),
				before.Version)
		}
	})
}

// The transcript of a session is removed a long time after it was archived. It comes back from the runtime when a
// client reads it.
func TestArchivedTranscriptsGo(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, other := k.create(), k.create()
		k.played(s.ID, 1)
		k.played(other.ID, 2)
		many := make([]transcript.Entry, 2*retention.EntriesPerUnit+1)
		for i := range many {
			many[i] = transcript.Entry{MessageID: fmt.Sprintf("note-%d", i), TurnID: "t", Role: "system", Type: "note",
				Status: transcript.Complete}
		}
		_, err := k.UpsertTranscripts(t.Context(), s.ID, many)
		k.do(err)
		k.later(400 * day)
		_, err = k.Archive(t.Context(), s.ID)
		k.do(err)
		if gone := k.prune(defaults()); len(gone) > 0 {
			t.Errorf("pruned %v right after it was archived", gone)
		}
		version := k.read(s.ID, session.Reading{}).Version
		k.later(364 * day)
		if gone := k.prune(defaults()); len(gone) > 0 {
			t.Errorf("pruned %v before its time", gone)
		}
		k.later(2 * day)
		if gone := k.prune(defaults()); gone["archived_transcripts"] != int64(len(many))+2 {
			t.Errorf("pruned %v", gone)
		}
		for _, table := range []string{"transcript_entries", "transcript_turns", "turns", "runtime_messages"} {
			if n := k.number(`select count(*) from `+table+` where session_id = $1`, s.ID); n != 0 {
				t.Errorf("%d rows left in %s", n, table)
			}
			if n := k.number(`select count(*) from `+table+` where session_id = $1`, other.ID); n == 0 &&
				table != "transcript_turns" {
				t.Errorf("the other session has nothing left in %s", table)
			}
		}
		if gone := k.prune(defaults()); len(gone) > 0 {
			t.Errorf("pruned %v again", gone)
		}
		_, err = k.fake.withThread(s.ID, func(t *runtime.Thread) {
			t.Turns = []runtime.Turn{
				{ID: "old", Status: runtime.TurnDone,
					Items: []runtime.Item{{ID: "kept", Role: "user", Type: "user", Content: "words"}}}}
		})
		k.do(err)
		if again := k.read(s.ID, session.Reading{}); !slices.Equal(entryIDs(again.Transcript), []string{"kept"}) ||
			again.Version == version {
			t.Errorf("reads %v, version %s as before %s", entryIDs(again.Transcript), again.Version, version)
		}
	})
}

// The number of archived transcripts may be limited, too: the sessions archived last keep theirs. An unarchived
// session does not count.
func TestArchivedTranscriptsGoByNumber(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		var all []string
		for i := range 4 {
			s := k.create()
			k.played(s.ID, i)
			all = append(all, s.ID)
		}
		keep := retention.Policy{MaxArchived: 1}
		for _, id := range all[:3] {
			_, err := k.Archive(t.Context(), id)
			k.do(err)
			k.prune(retention.Policy{MaxArchived: 100}) // records the time
			k.later(time.Minute)
		}
		_, err := k.Unarchive(t.Context(), all[0])
		k.do(err)
		if gone := k.prune(keep); gone["archived_transcripts"] != 2 {
			t.Errorf("pruned %v", gone)
		}
		var left []int
		for _, id := range all {
			left = append(left, k.number(`select count(*) from transcript_entries where session_id = $1`, id))
		}
		if !slices.Equal(left, []int{2, 0, 2, 2}) {
			t.Errorf("entries left: %v", left)
		}
	})
}

// If the operator sets a limit, turns are removed by age or number, with all their rows. The oldest of a session are
// removed first. A turn still in use and the newest turn stay.
func TestTurnsGoOnRequest(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		old := time.Now().UnixMilli()
		for _, id := range []string{"a", "b"} {
			k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "client-" + id, TurnID: "client-" + id,
				Role: "system", Type: "note", Status: transcript.Complete, CompletedAt: &old}))
		}
		k.do(k.UpsertTranscript(t.Context(), s.ID, transcript.Entry{MessageID: "timeless", Role: "system", Type: "note",
			Status: transcript.Complete}))
		for i := range 2*retention.TurnsPerUnit + 1 {
			k.played(s.ID, i)
		}
		version := k.read(s.ID, session.Reading{}).Version
		if gone := k.prune(retention.Policy{Turns: day}); len(gone) > 0 {
			t.Errorf("pruned %v of today", gone)
		}
		k.later(10 * day)
		used := retention.Policy{Turns: day, MaxTurns: 3,
			InUse: func(_ context.Context, _ database.Querier, id string) (bool, error) { return id == s.ID, nil }}
		if gone := k.prune(used); gone["turns"] != 0 {
			t.Errorf("pruned %v of a session in use", gone)
		}
		if gone := k.prune(retention.Policy{MaxTurns: 3}); gone["turns"] != 2*retention.TurnsPerUnit-2 {
			t.Errorf("pruned %v", gone)
		}
		last := 2 * retention.TurnsPerUnit
		want := []string{}
		for i := last - 2; i <= last; i++ {
			want = append(want, fmt.Sprintf("user-%d", i), fmt.Sprintf("assistant-%d", i))
		}
		if detail := k.read(s.ID, session.Reading{}); !slices.Equal(entryIDs(detail.Transcript), append(want, "timeless")) ||
			detail.Version == version {
			t.Errorf("shows %v, version %s after %s", entryIDs(detail.Transcript), detail.Version, version)
		}
		if n := k.number(`select count(*) from runtime_messages where session_id = $1`, s.ID); n != 6 {
			t.Errorf("%d messages of the runtime are left", n)
		}
		if gone := k.prune(retention.Policy{Turns: day}); gone["turns"] != 2 {
			t.Errorf("pruned %v", gone)
		}
		if got := entryIDs(k.read(s.ID, session.Reading{}).Transcript); !slices.Equal(got, append(want[4:], "timeless")) {
			t.Errorf("shows %v", got)
		}
		// The session continues as before.
		k.played(s.ID, 99)
		if got := entryIDs(k.read(s.ID, session.Reading{}).Transcript); !slices.Equal(got,
			append(want[4:], "user-99", "assistant-99", "timeless")) {
			t.Errorf("shows %v", got)
		}
	})
}

// Finished records are removed: settled requests (except those of a running turn), rolled-back turns, and turns of
// workers' sessions.
func TestRecordsGo(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s := k.create()
		for i := range 3 {
			turn := k.send(s.ID)
			k.fake.ask(s.ID, turn, i, runtime.RequestApproval, "item/commandExecution/requestApproval", `{"command":"ls"}`)
			_, err := k.Settle(t.Context(), k.pending(s.ID, runtime.RequestApproval)[0].ID, runtime.RequestApproval,
				runtime.Reply{Decision: "accept"}, "user")
			k.do(err)
			if i < 2 {
				k.end(s.ID, turn)
			}
		}
		if gone := k.prune(retention.Policy{MaxRecords: 2}); gone["interactive_requests"] != 1 {
			t.Errorf("pruned %v by number", gone)
		}
		rolledBack, turns := k.turns(2)
		_, err := k.RollBack(t.Context(), rolledBack, 1)
		k.do(err)
		worker, err := k.Create(t.Context(), session.Create{SystemOwned: true})
		k.do(err)
		k.played(worker.ID, 1)
		newest := k.played(worker.ID, 2)
		k.later(91 * day)
		gone := k.prune(defaults())
		if gone["interactive_requests"] != 1 || gone["rolled_back_turns"] != 1 || gone["turns"] != 1 {
			t.Errorf("pruned %v", gone)
		}
		if n := k.number(`select count(*) from interactive_requests`); n != 1 {
			t.Errorf("%d requests are left, want that of the running turn", n)
		}
		if got := entryIDs(k.read(worker.ID, session.Reading{}).Transcript); !slices.Equal(got, []string{"user-2", "assistant-2"}) {
			t.Errorf("the worker shows %v of %s", got, newest)
		}
		if n := k.number(`select count(*) from transcript_entries where session_id = $1 and turn_id = $2`, rolledBack,
			turns[1]); n != 0 {
			t.Errorf("%d entries of a turn that was rolled back are left", n)
		}
		if got := k.shows(rolledBack); !slices.Equal(got, []string{"m0"}) {
			t.Errorf("the other turn shows %v", got)
		}
	})
}

// Deleted sessions keep their tombstones; their event counter is removed with the last of their events.
func TestCountersOfDeletedSessionsGo(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		s, other := k.create(), k.create()
		k.played(s.ID, 1)
		k.played(other.ID, 2)
		_, err := k.Delete(t.Context(), s.ID)
		k.do(err)
		counters := func() int {
			return k.number(`select count(*) from journal_sequences where session_id in ($1, $2)`, s.ID, other.ID)
		}
		if gone := k.prune(defaults()); len(gone) > 0 || counters() != 2 {
			t.Errorf("pruned %v, %d counters", gone, counters())
		}
		k.played(other.ID, 3)
		if _, err := k.log.Prune(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if gone := k.prune(defaults()); gone["journal_sequences"] != 1 || counters() != 1 {
			t.Errorf("pruned %v, %d counters", gone, counters())
		}
		if _, err := k.Get(t.Context(), s.ID); err == nil || k.number(`select count(*) from deleted_sessions`) != 1 {
			t.Errorf("the tombstone is gone: %v", err)
		}
	})
}
