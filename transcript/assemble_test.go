package transcript_test

import (
	"encoding/json"
	"os"
	"testing"

	"harness/transcript"
)

// recorded is one read of a session by codex-manager's own clients: what its runtime stored, what it had stored itself, what it answered.
// One thing was corrected by hand: completedAt is never before startedAt (a turn's times are in seconds, an entry's in ms).
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

func TestAssembleAsRecorded(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/assemble.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []recorded
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 10 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, vector := range vectors {
		t.Run(vector.Name, func(t *testing.T) {
			t.Parallel()
			var base []transcript.Turn
			for _, turn := range vector.Base {
				base = append(base, transcript.Turn(turn))
			}
			same(t, transcript.Assemble(base, vector.Stored, nil), vector.Want)
		})
	}
}

func TestAssembleRules(t *testing.T) {
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
	base := []transcript.Turn{{ID: "t", Done: true, Entries: []transcript.Entry{
		entry("u", "", "user", "userMessage", "hi", ""), entry("a1", "", "assistant", "agentMessage", "first", ""),
		entry("a2", "", "assistant", "agentMessage", "last", ""),
	}}}
	user, first, last := entry("u", "t", "user", "userMessage", "hi", "complete"),
		entry("a1", "t", "assistant", "agentMessage", "first", "complete"), entry("a2", "t", "assistant", "agentMessage", "last", "complete")

	for name, test := range map[string]struct {
		base         []transcript.Turn
		stored, want []transcript.Entry
		times        map[string]transcript.TurnTimes
	}{
		"nothing": {want: []transcript.Entry{}},
		"unmatched before the last answer, in their own order": {
			base:   base,
			stored: []transcript.Entry{entry("x", "t", "system", "n", "1", "complete"), entry("y", "t", "system", "n", "2", "error")},
			want:   []transcript.Entry{user, first, entry("x", "t", "system", "n", "1", "complete"), entry("y", "t", "system", "n", "2", "error"), last},
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
			base: []transcript.Turn{{ID: "t", Done: true, StartedAt: 1000, CompletedAt: 5000, Entries: base[0].Entries[:1]}},
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
			base:   []transcript.Turn{{ID: "t", StartedAt: 5, Entries: base[0].Entries[:1]}},
			stored: []transcript.Entry{at(entry("a", "t", "assistant", "agentMessage", "", "streaming"), 10, 0)},
			times:  map[string]transcript.TurnTimes{"t": {StartedAt: 7}},
			want:   []transcript.Entry{at(user, 5, 0), at(entry("a", "t", "assistant", "agentMessage", "", "streaming"), 10, 0)},
		},
		"made-up ids go where the real item is there too": {
			base: []transcript.Turn{{ID: "t", Done: true, Entries: []transcript.Entry{
				entry("item-1", "", "user", "userMessage", "hi  there", ""), entry("item-2", "", "system", "reasoning", "one", ""),
				entry("item-3", "", "system", "plan", "kept", ""), withDetails(entry("item-4", "", "system", "plan", "a", ""), "d  d"),
				entry("item-x", "", "user", "userMessage", "hi there", ""),
			}}},
			stored: []transcript.Entry{
				entry("u", "t", "user", "userMessage", "hi there", "complete"), entry("r", "t", "system", "reasoning", "other", "complete"),
				withDetails(entry("p", "t", "system", "plan", "b", "complete"), "d d"),
			},
			want: []transcript.Entry{
				entry("item-3", "t", "system", "plan", "kept", "complete"), entry("item-x", "t", "user", "userMessage", "hi there", "complete"),
				entry("u", "t", "user", "userMessage", "hi there", "complete"), entry("r", "t", "system", "reasoning", "other", "complete"),
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
				user, first, last, entry("b", "t9", "system", "n", "1", "complete"), entry("d", "t9", "system", "n", "3", "complete"),
				entry("c", "t8", "system", "n", "2", "complete"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, transcript.Assemble(test.base, test.stored, test.times), test.want)
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
