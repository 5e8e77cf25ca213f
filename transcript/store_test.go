package transcript_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/transcript"
)

func upsert(t interface {
	Helper()
	Fatal(...any)
}, db *database.DB, session string, entries ...transcript.Entry,
) (merged transcript.Entry, changed bool) {
	t.Helper()
	err := db.Update(context.Background(), func(tx database.Tx) error {
		for _, entry := range entries {
			var err error
			if merged, changed, err = (transcript.Store{}).Upsert(context.Background(), tx, session, entry); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return merged, changed
}

func ptr[T any](v T) *T { return &v }

// TR-01, TR-02, TR-08: the recorded sequence of upserts of one message (codex-manager's transcript-upsert recording)
// ends as recorded.
func TestStoreMergesAsRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		e := transcript.Entry{MessageID: "m1", TurnID: "t1", Role: "assistant", Type: "agentMessage"}
		with := func(content string, status transcript.Status, details *string, started, completed *int64) transcript.Entry {
			next := e
			next.Content, next.Status, next.Details, next.StartedAt, next.CompletedAt =
				content, status, details, started, completed
			return next
		}
		moved := with("moved", transcript.Complete, nil, nil, nil)
		moved.TurnID, moved.Role, moved.Type = "t2", "system", "other"
		wantMoved := with("moved", transcript.Complete, ptr("d"), ptr[int64](900), ptr[int64](2000))
		wantMoved.TurnID, wantMoved.Role, wantMoved.Type = "t2", "system", "other"
		for _, step := range []struct {
			name       string
			give, want transcript.Entry
		}{
			{"new", with("hello", "streaming", nil, ptr[int64](1000), nil),
				with("hello", "streaming", nil, ptr[int64](1000), nil)},
			{"started earlier", with("hello world", "streaming", nil, ptr[int64](900), nil),
				with("hello world", "streaming", nil, ptr[int64](900), nil)},
			{"complete", with("done", "complete", ptr("d"), nil, ptr[int64](2000)),
				with("done", "complete", ptr("d"), ptr[int64](900), ptr[int64](2000))},
			{"late streaming", with("regress", "streaming", ptr("x"), ptr[int64](1500), nil),
				with("done", "complete", ptr("d"), ptr[int64](900), ptr[int64](2000))},
			{"final over final", with("err", "error", nil, nil, nil),
				with("err", "error", ptr("d"), ptr[int64](900), ptr[int64](2000))},
			{"moved", moved, wantMoved},
		} {
			merged, _ := upsert(t, db, "s", step.give)
			if !merged.Equal(step.want) {
				t.Errorf("%s: merged %+v, want %+v", step.name, merged, step.want)
			}
			same(t, list(t, db, "s"), []transcript.Entry{step.want})
		}
		if _, changed := upsert(t, db, "s", moved); changed {
			t.Error("the same entry again counts as a change")
		}
	})
}

// A bug of the original: the first insert kept a completion before the start.
func TestStoreRaisesCompletion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		merged, changed := upsert(t, db, "s",
			transcript.Entry{MessageID: "m", Status: "complete", StartedAt: ptr[int64](5000), CompletedAt: ptr[int64](1)})
		if !changed || *merged.CompletedAt != 5000 {
			t.Errorf("stored %+v, want completedAt raised to 5000", merged)
		}
		same(t, list(t, db, "s"), []transcript.Entry{merged})
	})
}

// TR-12, and text that no engine stores unchanged: U+0000, control characters, four-byte runes, invalid UTF-8.
func TestStoreKeepsOrderAndText(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var want []transcript.Entry
		for i, text := range []string{"", "Ün\u2028\x00 \"q\" <&>", "\x010 and \x011 and \x01", "м8😀", "z"} {
			want = append(want, transcript.Entry{MessageID: fmt.Sprintf("%d%s", 9-i, text), TurnID: text, Role: "user",
				Type: text, Content: text, Details: &text, Status: "complete"})
		}
		upsert(t, db, "s\x00", want...)
		upsert(t, db, "other", want[1])
		same(t, list(t, db, "s\x00"), want)

		merged, _ := upsert(t, db, "bad", transcript.Entry{MessageID: "m", Content: "a\xffb", Status: "complete"})
		if got := list(t, db, "bad")[0].Content; got != "a\uFFFDb" {
			t.Errorf("invalid UTF-8 stored as %q (merged %q)", got, merged.Content)
		}
		err := db.Update(t.Context(), func(tx database.Tx) error {
			return (transcript.Store{}).Delete(t.Context(), tx, "s\x00")
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, list(t, db, "s\x00"), nil)
		same(t, list(t, db, "other"), want[1:2])
	})
}

// The stored transcript is the fold of the upserts, turn by turn; entries of a turn are in order of first appearance.
func TestStoreIsFoldOfUpserts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			session := fmt.Sprint("s", run)
			sent := rapid.SliceOfN(rapid.Custom(entries), 1, 25).Draw(rt, "sent")
			var want []transcript.Entry
			at := map[string]int{}
			for _, entry := range sent {
				i, known := at[entry.MessageID]
				if !known {
					at[entry.MessageID] = len(want)
					want = append(want, transcript.Merge(entry, entry))
					continue
				}
				want[i] = transcript.Merge(want[i], entry)
				if want[i].StartedAt != nil && want[i].CompletedAt != nil && *want[i].CompletedAt < *want[i].StartedAt {
					rt.Fatalf("%+v ends before it starts", want[i])
				}
			}
			upsert(rt, db, session, sent...)
			got, err := (transcript.Store{}).List(context.Background(), db.Read(), session)
			if err != nil {
				rt.Fatal(err)
			}
			if len(got) != len(want) {
				rt.Fatalf("%d entries, want %d", len(got), len(want))
			}
			var turns []string
			for _, entry := range got {
				if len(turns) == 0 || turns[len(turns)-1] != entry.TurnID {
					turns = append(turns, entry.TurnID)
				}
				i := slices.IndexFunc(want, func(w transcript.Entry) bool { return w.TurnID == entry.TurnID })
				if i < 0 || !entry.Equal(want[i]) {
					rt.Fatalf("%+v follows in turn %s, want %+v", entry, entry.TurnID, want)
				}
				want = slices.Delete(want, i, i+1)
			}
			if len(turns) > 2 {
				rt.Fatalf("turns are torn apart: %v", turns)
			}
		})
	})
}

func entries(rt *rapid.T) transcript.Entry {
	maybe := rapid.Ptr(rapid.Int64Range(0, 50), true)
	return transcript.Entry{
		MessageID: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "message"),
		TurnID:    rapid.SampledFrom([]string{"t", "u"}).Draw(rt, "turn"), Role: "system",
		Type: rapid.SampledFrom([]string{"x", "y"}).Draw(rt, "type"), Content: rapid.String().Draw(rt, "content"),
		Details: rapid.Ptr(rapid.SampledFrom([]string{"", "d", "\x00"}), true).
			Draw(rt, "details"), StartedAt: maybe.Draw(rt, "started"), CompletedAt: maybe.Draw(rt, "completed"),
		Status: rapid.SampledFrom([]transcript.Status{"streaming", "complete", "canceled", "error"}).Draw(rt, "status"),
	}
}

func list(t *testing.T, db *database.DB, session string) []transcript.Entry {
	t.Helper()
	got, err := (transcript.Store{}).List(t.Context(), db.Read(), session)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
