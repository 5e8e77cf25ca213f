package transcript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/transcript"
)

// ways lists all functions that read entries.
func ways(t *testing.T, db *database.DB) map[string][]transcript.Entry {
	t.Helper()
	ctx, store, found := t.Context(), transcript.Store{}, map[string][]transcript.Entry{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	listed, err := store.List(ctx, db.Read(), "s")
	must(err)
	found["list"] = listed
	must(store.EachPage(ctx, db.Read(), "s", func(page []transcript.Entry, encodings transcript.Encodings) error {
		var decoded []transcript.Entry
		err := json.Unmarshal(encodings.AppendJSON(nil, page), &decoded)
		found["page"] = append(found["page"], decoded...)
		return err
	}))
	window, err := store.Window(ctx, db.Read(), "s", transcript.Window{Limit: 10})
	must(err)
	found["window"] = window.Entries
	for _, entry := range listed {
		one, there, err := store.Find(ctx, db.Read(), "s", entry.MessageID)
		if must(err); there {
			found["find"] = append(found["find"], one)
		}
	}
	return found
}

// All functions that read a damaged entry show it as damaged, however it is stored. Other entries are shown as they
// are, and the next upsert of the entry repairs it.
func TestADamagedEntryIsNamed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		entry := func(id, content string) transcript.Entry {
			return transcript.Entry{MessageID: id, TurnID: "t", Role: "assistant", Type: "agentMessage", Content: content,
				Status: transcript.Complete}
		}
		evented := []transcript.Entry{entry("event", "in its event"), entry("long event", strings.Repeat("long ", database.PartBytes/3)),
			entry("elsewhere", "in the event of another"), entry("whole", "as it was written")}
		j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
		if err := j.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Stop(context.Background()) })
		_, err := j.Commit(t.Context(), func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
			var puts []transcript.Put
			for i, one := range evented {
				payload, _ := one.AppendUpdate(nil, "s")
				events = append(events, journal.Event{SessionID: "s", ItemID: one.MessageID, Type: "x", Payload: payload})
				puts = append(puts, transcript.Put{SessionID: "s", Entry: one, Pos: journal.NextPos(ctx) + int64(i)})
			}
			return events, transcript.Store{}.UpsertAll(ctx, tx, puts)
		})
		if err != nil {
			t.Fatal(err)
		}
		all := append(slices.Clone(evented), entry("row", "in its row"), entry("parts", strings.Repeat("parts ", database.PartBytes/3)))
		upsert(t, db, "s", all[len(evented):]...)
		for _, entries := range ways(t, db) {
			same(t, entries, all)
		}
		for _, statement := range []string{
			`update journal_events set payload = replace(payload, 'its event', 'ITS event'), checksum = coalesce(checksum, 0)
				where item_id = 'event'`,
			`update journal_parts set part = replace(part, 'long', 'LONG') where number = 2`,
			`update journal_events set checksum = coalesce(checksum, 0) where item_id = 'long event'`,
			`update transcript_entries set event_pos = event_pos + 1 where message_id = 'elsewhere'`,
			`update transcript_entries set encoded = replace(encoded, 'its row', 'ITS row') where message_id = 'row'`,
			`update transcript_parts set part = replace(part, 'parts', 'PARTS') where number = 1`,
		} {
			if _, err := db.Raw().ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		for name, entries := range ways(t, db) {
			if len(entries) != len(all) {
				t.Fatalf("%s shows %d entries", name, len(entries))
			}
			for i, shown := range entries {
				if whole := all[i].MessageID == "whole"; whole != shown.Equal(all[i]) || shown.MessageID != all[i].MessageID ||
					!whole && (shown.Type != transcript.TypeDamaged || strings.Contains(shown.Content, "ITS") || shown.TurnID != "t") {
					t.Errorf("%s shows %.300s", name, fmt.Sprint(shown))
				}
			}
		}
		found, err := transcript.Scrub(t.Context(), db.Read(), transcript.Key{})
		damaged := []string{}
		for _, k := range found.Damaged {
			damaged = append(damaged, k.MessageID)
		}
		if slices.Sort(damaged); err != nil || !slices.Equal(damaged, []string{"elsewhere", "parts", "row"}) {
			t.Errorf("a scrub of the entries finds %v (%v)", damaged, err)
		}
		upsert(t, db, "s", all...)
		for _, entries := range ways(t, db) {
			same(t, entries, all)
		}
	})
}
