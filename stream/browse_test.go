package stream_test

import (
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

// Events are found by their fields, from both ends, and none twice; a cursor is the stream's.
func TestBrowse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := journal.New(db, journal.Options{Logger: zerolog.Nop(), Upcast: stream.Upcast})
		lifecycletest.Run(t, log)
		const line = `{"method":"turn/started","params":{}}`
		of := func(session, kind, actor string, at int64, payload string, meta stream.Meta) (e journal.Event) {
			e = journal.Event{SessionID: session, Type: kind, Actor: actor, Time: at, Payload: []byte(payload)}
			stream.SetMeta(&e, &meta)
			return e
		}
		said := of("a", stream.EventNotification, "", 30, line, stream.Meta{})
		said = stream.Upcast(1, said) // records where the method is
		events := []journal.Event{of("a", "approval", "", 10, `{}`, stream.Meta{}), of("b", "approval_resolved", "bob", 20, `{}`, stream.Meta{}),
			said, of("w", "approval", "", 40, `{}`, stream.Meta{SystemOwned: true}), of("a", "session_renamed", "bob", 50, `{}`, stream.Meta{})}
		for _, event := range events {
			if _, err := log.Append(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
		browser := stream.Browser{Journal: log}
		find := func(want stream.Browse) (names []string) {
			t.Helper()
			want.Limit = 2
			for {
				page, err := browser.Browse(t.Context(), want)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Events {
					names = append(names, e.SessionID+" "+e.Name)
				}
				if page.Next == nil {
					return names
				}
				if want.After != nil {
					want.After = page.Next
				} else {
					want.Before = page.Next
				}
			}
		}
		all := []string{"a session_renamed", "a turn/started", "b approval_resolved", "a approval"}
		oldest := slices.Clone(all)
		slices.Reverse(oldest)
		start, second := int64(0), stream.CursorAfter(2)
		for name, c := range map[string]struct {
			want  stream.Browse
			names []string
		}{
			"all":                {stream.Browse{}, all},
			"from the beginning": {stream.Browse{After: &start}, oldest},
			"after the second":   {stream.Browse{After: &second}, oldest[2:]},
			"before the second":  {stream.Browse{Before: &second}, all[3:]},
			"a session":          {stream.Browse{Session: "a"}, []string{all[0], all[1], all[3]}},
			"a worker's":         {stream.Browse{Session: "w"}, []string{"w approval"}},
			"a method":           {stream.Browse{Type: "turn/started"}, all[1:2]},
			"a beginning":        {stream.Browse{Type: "approval*"}, all[2:]},
			"an actor":           {stream.Browse{Actor: "bob"}, []string{all[0], all[2]}},
			"a time":             {stream.Browse{Since: 20, Until: 50}, all[1:3]},
		} {
			if got := find(c.want); !slices.Equal(got, c.names) {
				t.Errorf("%s: %q, want %q", name, got, c.names)
			}
		}
		page, err := browser.Browse(t.Context(), stream.Browse{Limit: 1})
		if err != nil || page.Head != stream.CursorAfter(5) || page.Events[0].Cursor != page.Head {
			t.Errorf("the newest is at %+v of %d, %v", page.Events, page.Head, err)
		}
		if one, found, err := browser.Event(t.Context(), second); err != nil || !found || one.Name != "approval_resolved" {
			t.Errorf("the second is %+v, %t, %v", one, found, err)
		}
		if _, found, err := browser.Event(t.Context(), 99*16); err != nil || found {
			t.Errorf("one that is not there: %t, %v", found, err)
		}
	})
}

// A page searches a bounded part of the journal, and reports where the next one starts.
func TestBrowseIsBounded(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `with recursive n (i) as (select 1 union all select i + 1 from n where i < 25000)
			insert into journal_events (pos, seq, schema_version, session_id, turn_id, item_id, type, time, source, actor, broadcast,
				trace_id, span_id, meta, payload)
			select i, i, 2, 's', '', '', case when i = 1 then 'first' else 'other' end, 1, '', '', 0, '', '', '{}', '{}' from n`)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), `update journal_head set pos = 25000`)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	browser := stream.Browser{Journal: journal.New(db, journal.Options{Logger: zerolog.Nop()})}
	page, err := browser.Browse(t.Context(), stream.Browse{Type: "first", Limit: 5})
	if err != nil || len(page.Events) != 0 || page.Next == nil {
		t.Fatalf("first %+v, %v", page, err)
	}
	page, err = browser.Browse(t.Context(), stream.Browse{Type: "first", Before: page.Next, Limit: 5})
	if err != nil || len(page.Events) != 1 || page.Next != nil {
		t.Fatalf("then %+v, %v", page, err)
	}
}
