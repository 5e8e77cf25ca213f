package transcript_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/transcript"
)

// recorded is one read of a session by codex-manager's own clients: what the runtime had stored, what codex-manager
// had stored, and what it answered. One field was corrected by hand: completedAt is never before startedAt (a turn's
// times are in seconds, an entry's in ms).
type recorded struct {
	Name string
	Base []struct {
		ID                     string
		Done                   bool
		StartedAt, CompletedAt int64
		Entries                []transcript.Entry
	}
	Stored, Want []transcript.Entry
}

func vectors(t *testing.T) []recorded {
	t.Helper()
	raw, err := os.ReadFile("testdata/assemble.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d vectors", len(all))
	}
	for _, vector := range all {
		for _, entry := range vector.Want {
			if entry.StartedAt != nil && entry.CompletedAt != nil {
				*entry.CompletedAt = max(*entry.StartedAt, *entry.CompletedAt) // the original did not
			}
		}
	}
	return all
}

// base returns the runtime's history in the form for the import, and the times of its turns.
func (r recorded) base() (turns []transcript.Turn, times map[string]transcript.TurnTimes) {
	times = map[string]transcript.TurnTimes{}
	for _, turn := range r.Base {
		at := transcript.TurnTimes{StartedAt: turn.StartedAt}
		if turn.Done {
			at.CompletedAt = turn.CompletedAt
		}
		times[turn.ID] = at
		one := transcript.Turn{ID: turn.ID}
		for _, entry := range turn.Entries {
			entry.TurnID, entry.Status = turn.ID, transcript.Complete
			if at.StartedAt != 0 {
				entry.StartedAt = ptr(at.StartedAt)
			}
			if at.CompletedAt != 0 {
				entry.CompletedAt = ptr(at.CompletedAt)
			}
			one.Entries = append(one.Entries, entry)
		}
		turns = append(turns, one)
	}
	return turns, times
}

func importAll(t testing.TB, db *database.DB, session string, turns []transcript.Turn) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		return (transcript.Store{}).Import(t.Context(), tx, session, turns)
	}); err != nil {
		t.Fatal(err)
	}
}

// A history imported beside stored entries reads the same as for codex-manager's clients, and a second import changes
// nothing.
func TestImportAsRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i, vector := range vectors(t) {
			session := fmt.Sprint("s", i)
			fill(t, db, session, vector.Stored)
			turns, times := vector.base()
			for range 2 {
				importAll(t, db, session, turns)
				got := list(t, db, session)
				transcript.Settle(got, times)
				same(t, got, vector.Want)
			}
		}
	})
}

// Entries stored live, item by item, have the order of the recorded reads, with one exception. An answer that a
// message interrupted keeps its place before the message. codex-manager, which did not find the answer in the
// runtime's history, showed it after the message.
func TestLiveOrderAsRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i, vector := range vectors(t) {
			session := fmt.Sprint("s", i)
			history := map[string]bool{}
			for _, turn := range vector.Base {
				for _, entry := range turn.Entries {
					history[entry.MessageID] = true
				}
			}
			var want []string
			for _, entry := range vector.Want {
				want = append(want, entry.MessageID)
			}
			if vector.Name == "an interrupted turn with a message steered in" {
				want = nil
				for _, entry := range vector.Stored {
					want = append(want, entry.MessageID)
				}
			}
			for _, entry := range vector.Stored {
				put := (transcript.Store{}).Upsert
				if history[entry.MessageID] || len(vector.Base) > 0 &&
					slices.Contains([]string{"agentMessage", "commandExecution", "fileChange", "dynamicToolCall"}, entry.Type) {
					put = (transcript.Store{}).UpsertItem
				}
				if err := db.Update(t.Context(), func(tx database.Tx) error {
					_, _, err := put(t.Context(), tx, session, entry)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, entry := range list(t, db, session) {
				got = append(got, entry.MessageID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s reads\n%v, want\n%v", vector.Name, got, want)
			}
		}
	})
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	entry := func(id, turn, role, kind, content string, status transcript.Status) transcript.Entry {
		return transcript.Entry{MessageID: id, TurnID: turn, Role: role, Type: kind, Content: content, Status: status}
	}
	withDetails := func(e transcript.Entry, details string) transcript.Entry { e.Details = &details; return e }
	at := func(e transcript.Entry, started, completed int64) transcript.Entry {
		if started != 0 {
			e.StartedAt = &started
		}
		if completed != 0 {
			e.CompletedAt = &completed
		}
		return e
	}
	base := []transcript.Turn{{ID: "t", Entries: []transcript.Entry{
		entry("u", "t", "user", "userMessage", "hi", "complete"),
		entry("a1", "t", "assistant", "agentMessage", "first", "complete"),
		entry("a2", "t", "assistant", "agentMessage", "last", "complete"),
	}}}
	user, first, last := entry("u", "t", "user", "userMessage", "hi", "complete"),
		entry("a1", "t", "assistant", "agentMessage", "first", "complete"), entry("a2", "t", "assistant", "agentMessage",
			"last", "complete")

	for name, test := range map[string]struct {
		base         []transcript.Turn
		stored, want []transcript.Entry
		times        map[string]transcript.TurnTimes
	}{
		"nothing": {want: []transcript.Entry{}},
		"unmatched before the last answer, in their own order": {
			base: base,
			stored: []transcript.Entry{entry("x", "t", "system", "n", "1", "complete"),
				entry("y", "t", "system", "n", "2", "error")},
			want: []transcript.Entry{user, first, entry("x", "t", "system", "n", "1", "complete"),
				entry("y", "t", "system", "n", "2", "error"), last},
		},
		"anchored behind its item, several in their own order": {
			base: base,
			stored: []transcript.Entry{
				withDetails(entry("x", "t", "system", "n", "1", "complete"), `{"anchorItemId":"u"}`),
				withDetails(entry("y", "t", "system", "n", "2", "complete"), `{"anchorItemId":"u"}`),
				withDetails(entry("z", "t", "system", "n", "3", "complete"), `{"anchorItemId":"nowhere"}`),
				withDetails(entry("w", "t", "system", "n", "4", "complete"), `{"anchorItemId":"a2"}`),
			},
			want: []transcript.Entry{
				user, withDetails(entry("x", "t", "system", "n", "1", "complete"), `{"anchorItemId":"u"}`),
				withDetails(entry("y", "t", "system", "n", "2", "complete"), `{"anchorItemId":"u"}`), first,
				withDetails(entry("z", "t", "system", "n", "3", "complete"), `{"anchorItemId":"nowhere"}`), last,
				withDetails(entry("w", "t", "system", "n", "4", "complete"), `{"anchorItemId":"a2"}`),
			},
		},
		"the more final, then the longer details, then the longer content wins": {
			base: base,
			stored: []transcript.Entry{
				entry("u", "t", "user", "userMessage", "hi there, longer", "streaming"),
				entry("a1", "t", "assistant", "agentMessage", "x", "error"),
				withDetails(entry("a2", "t", "assistant", "agentMessage", "l", "complete"), "d"),
			},
			want: []transcript.Entry{
				user, entry("a1", "t", "assistant", "agentMessage", "x", "error"),
				withDetails(entry("a2", "t", "assistant", "agentMessage", "l", "complete"), "d"),
			},
		},
		"times span both views, missing ones come from the turn": {
			base:  []transcript.Turn{{ID: "t", Entries: []transcript.Entry{at(user, 1000, 5000)}}},
			times: map[string]transcript.TurnTimes{"t": {StartedAt: 1000, CompletedAt: 5000}},
			stored: []transcript.Entry{
				at(entry("u", "t", "user", "userMessage", "hi", "complete"), 1200, 5600),
				at(entry("x", "t", "system", "n", "1", "streaming"), 5200, 0), entry("y", "t", "system", "n", "2", "complete"),
			},
			want: []transcript.Entry{
				at(user, 1000, 5600), at(entry("x", "t", "system", "n", "1", "complete"), 5200, 5200),
				at(entry("y", "t", "system", "n", "2", "complete"), 1000, 5000),
			},
		},
		"a turn only we know ended still ends its streaming entries": {
			stored: []transcript.Entry{at(entry("a", "t", "assistant", "agentMessage", "", "streaming"), 10, 0)},
			times:  map[string]transcript.TurnTimes{"t": {StartedAt: 5, CompletedAt: 20}},
			want:   []transcript.Entry{at(entry("a", "t", "assistant", "agentMessage", "", "complete"), 10, 20)},
		},
		"a running turn keeps its streaming entries": {
			base:   []transcript.Turn{{ID: "t", Entries: []transcript.Entry{at(user, 5, 0)}}},
			stored: []transcript.Entry{at(entry("a", "t", "assistant", "agentMessage", "", "streaming"), 10, 0)},
			times:  map[string]transcript.TurnTimes{"t": {StartedAt: 7}},
			want:   []transcript.Entry{at(user, 5, 0), at(entry("a", "t", "assistant", "agentMessage", "", "streaming"), 10, 0)},
		},
		"made-up ids go where the real item is there too": {
			base: []transcript.Turn{{ID: "t", Entries: []transcript.Entry{
				entry("item-1", "t", "user", "userMessage", "hi  there", "complete"),
				entry("item-2", "t", "system", "reasoning", "one", "complete"),
				entry("item-3", "t", "system", "plan", "kept", "complete"),
				withDetails(entry("item-4", "t", "system", "plan", "a", "complete"), "d  d"),
				entry("item-x", "t", "user", "userMessage", "hi there", "complete"),
			}}},
			stored: []transcript.Entry{
				entry("u", "t", "user", "userMessage", "hi there", "complete"),
				entry("r", "t", "system", "reasoning", "other", "complete"),
				withDetails(entry("p", "t", "system", "plan", "b", "complete"), "d d"),
			},
			want: []transcript.Entry{
				entry("item-3", "t", "system", "plan", "kept", "complete"),
				entry("item-x", "t", "user", "userMessage", "hi there", "complete"),
				entry("u", "t", "user", "userMessage", "hi there", "complete"),
				entry("r", "t", "system", "reasoning", "other", "complete"),
				withDetails(entry("p", "t", "system", "plan", "b", "complete"), "d d"),
			},
		},
		"turns only we know follow by first appearance": {
			base: base,
			stored: []transcript.Entry{
				entry("b", "t9", "system", "n", "1", "complete"), entry("c", "t8", "system", "n", "2", "complete"),
				entry("d", "t9", "system", "n", "3", "complete"),
			},
			want: []transcript.Entry{
				user, first, last, entry("b", "t9", "system", "n", "1", "complete"),
				entry("d", "t9", "system", "n", "3", "complete"), entry("c", "t8", "system", "n", "2", "complete"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				fill(t, db, "s", test.stored)
				importAll(t, db, "s", test.base)
				got := list(t, db, "s")
				transcript.Settle(got, test.times)
				same(t, got, test.want)
			})
		})
	}
}

func same(t *testing.T, got, want []transcript.Entry) {
	t.Helper()
	show := func(entries []transcript.Entry) string {
		out, err := json.MarshalIndent(entries, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d\ngot %s\nwant %s", len(got), len(want), show(got), show(want))
	}
	for i := range want {
		if !got[i].Equal(want[i]) {
			t.Errorf("entry %d\ngot %s\nwant %s", i, show(got[i:i+1]), show(want[i:i+1]))
		}
	}
}
