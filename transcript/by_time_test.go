package transcript_test

import (
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/transcript"
)

// Entries of clients stand by the time at which they came, also above an answer or a question that came later. The
// message that began the turn stays first, and an anchored entry stays with its anchor. (TI-06)
func TestAWindowByTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		put := func(id, turn, role, details string, item bool) {
			t.Helper()
			entry := transcript.Entry{MessageID: id, TurnID: turn, Role: role, Type: "x", Content: id, Status: transcript.Complete}
			if details != "" {
				entry.Details = &details
			}
			err := db.Update(t.Context(), func(tx database.Tx) error {
				store := (transcript.Store{}).Upsert
				if item {
					store = (transcript.Store{}).UpsertItem
				}
				_, _, err := store(t.Context(), tx, "s", entry)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		put("early", "t1", "system", "", false)
		put("user", "t1", "user", "", true)
		put("answer1", "t1", "assistant", "", true)
		put("ci1", "t1", "system", "", false)
		put("question", "t1", "system", "", false)
		put("answer2", "t1", "assistant", "", true)
		put("ci2", "t1", "system", "", false)
		put("anchored", "t1", "system", `{"anchorItemId":"answer1"}`, false)
		put("next", "t2", "user", "", true)
		put("late", "t1", "system", "", false)
		window, err := (transcript.Store{}).Window(t.Context(), db.Read(), "s", transcript.Window{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		ids := func() string {
			var all []string
			for _, entry := range window.Entries {
				all = append(all, entry.MessageID)
			}
			return strings.Join(all, " ")
		}
		before := ids()
		if err := (transcript.Store{}).ByTime(t.Context(), db.Read(), "s", window.Entries); err != nil {
			t.Fatal(err)
		}
		if got, want := ids(), "user early answer1 anchored ci1 question answer2 ci2 late next"; got != want || got == before {
			t.Errorf("got %s, want %s; the store has %s", got, want, before)
		}
	})
}
