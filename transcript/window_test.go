package transcript_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/transcript"
)

func numbered(n int) []transcript.Entry {
	entries := make([]transcript.Entry, n)
	for i := range entries {
		entries[i] = transcript.Entry{MessageID: fmt.Sprintf("m%d", (i*7919)%n), TurnID: fmt.Sprint("t", i/4), Role: "user",
			Type: "x", Content: fmt.Sprint(i), Status: "complete"}
	}
	return entries
}

// fill stores entries with few statements.
func fill(t testing.TB, db *database.DB, session string, entries []transcript.Entry) {
	t.Helper()
	puts := make([]transcript.Put, len(entries))
	for i, entry := range entries {
		puts[i] = transcript.Put{SessionID: session, Entry: entry}
	}
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		return (transcript.Store{}).UpsertAll(t.Context(), tx, puts)
	}); err != nil {
		t.Fatal(err)
	}
}

// Paging from either end, in windows of any size, shows every entry once and in order; the store's windows equal those
// of the full list.
func TestWindowsTileTheTranscript(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			session := fmt.Sprint("s", run)
			all := numbered(rapid.IntRange(0, 30).Draw(rt, "entries"))
			fill(t, db, session, all)
			read := func(w transcript.Window) transcript.Range {
				got, err := (transcript.Store{}).Window(t.Context(), db.Read(), session, w)
				if err != nil {
					rt.Fatal(err)
				}
				want, err := windowOf(all, w)
				if err != nil || got.Older != want.Older || got.Newer != want.Newer {
					rt.Fatalf("%+v of the store goes on at %q and %q, of the whole at %q and %q (%v)", w, got.Older, got.Newer,
						want.Older, want.Newer, err)
				}
				same(t, got.Entries, want.Entries)
				return got
			}
			limit := rapid.IntRange(1, 12).Draw(rt, "limit")
			var back []transcript.Entry
			for w := (transcript.Window{Limit: limit}); ; {
				got := read(w)
				back = append(append([]transcript.Entry{}, got.Entries...), back...)
				if got.Older == "" {
					break
				}
				w.Before = got.Older
			}
			same(t, back, all)
			if len(all) == 0 {
				return
			}
			from := rapid.IntRange(0, len(all)-1).Draw(rt, "from")
			var on []transcript.Entry
			for w := (transcript.Window{Limit: limit, After: all[from].MessageID}); ; {
				got := read(w)
				on = append(on, got.Entries...)
				if got.Newer == "" {
					break
				}
				w.After = got.Newer
			}
			same(t, on, all[from+1:])
			read(transcript.Window{Limit: limit, FromStart: true})
			read(transcript.Window{Limit: limit, Around: all[from].MessageID})
			if n, err := (transcript.Store{}).Count(t.Context(), db.Read(), session); err != nil || n != int64(len(all)) {
				rt.Fatalf("%d of %d entries are counted: %v", n, len(all), err)
			}
		})
	})
}

// windowOf returns the window of a full list in memory.
func windowOf(all []transcript.Entry, w transcript.Window) (out transcript.Range, err error) {
	at := func(id string) int {
		return slices.IndexFunc(all, func(e transcript.Entry) bool { return e.MessageID == id })
	}
	var from int
	to := len(all)
	switch {
	case w.Before != "":
		to = at(w.Before)
		from = max(0, to-w.Limit)
	case w.After != "":
		from = at(w.After) + 1
		to = min(to, from+w.Limit)
	case w.Around != "":
		from = max(0, at(w.Around)-(w.Limit-1)/2)
		to = min(to, at(w.Around)+w.Limit-(w.Limit-1)/2)
	case w.FromStart:
		to = min(to, w.Limit)
	default:
		from = max(0, to-w.Limit)
	}
	if to < 0 || from > to {
		return out, transcript.ErrBadCursor
	}
	if out.Entries = all[from:to]; len(out.Entries) == 0 {
		return out, nil
	}
	if from > 0 {
		out.Older = all[from].MessageID
	}
	if w.Around != "" && (w.Limit-1)/2 == 0 {
		out.Older = all[from].MessageID
	}
	if w.Before != "" || to < len(all) && w.Before == "" {
		out.Newer = all[to-1].MessageID
	}
	return out, nil
}

func TestWindowRefusesUnknownCursor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		all := numbered(3)
		fill(t, db, "s", all)
		fill(t, db, "other", []transcript.Entry{{MessageID: "elsewhere", Status: "complete"}})
		for _, w := range []transcript.Window{{Limit: 1, Before: "elsewhere"}, {Limit: 1, After: "elsewhere"},
			{Limit: 1, After: "é\x00"}, {Limit: 1, Around: "elsewhere"}, {Limit: 3, Around: "elsewhere"}} {
			if _, err := (transcript.Store{}).Window(t.Context(), db.Read(), "s", w); !errors.Is(err, transcript.ErrBadCursor) {
				t.Errorf("%+v of the store: %v", w, err)
			}
		}
		for _, w := range []transcript.Window{{Limit: 1, Before: all[0].MessageID}, {Limit: 1, After: all[2].MessageID}} {
			if got, err := (transcript.Store{}).Window(t.Context(), db.Read(), "s", w); err != nil || len(got.Entries) != 0 ||
				got.Older+got.Newer != "" {
				t.Errorf("%+v beyond the end: %+v %v", w, got, err)
			}
		}
	})
}

// A window costs the same at the end of 100,000 entries as of 10. The engines' plans use the index, and the measured
// times agree.
func TestWindowCostIsFlat(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const small, large = 10, 100_000
		grow(t, db, "small", small)
		grow(t, db, "large", large)
		if db.Engine() == database.Postgres {
			if err := db.Update(t.Context(), func(tx database.Tx) error {
				_, err := tx.ExecContext(t.Context(), `analyze transcript_entries`)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range []transcript.Window{{Limit: 5}, {Limit: 5, Before: "m5"}, {Limit: 5, After: "m5"},
			{Limit: 5, Around: "m5"}, {Limit: 5, FromStart: true}} {
			plan := explain(t, db, w)
			// The plan may sort the parts of a long event: only one event's parts are sorted.
			sorts := strings.Count(plan, "Sort Key: ") - strings.Count(plan, "Sort Key: journal_parts.number\n")
			if !strings.Contains(plan, "transcript_entries_place") || sorts > 0 ||
				strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%+v does not go by the index:\n%s", w, plan)
			}
			took := map[string]time.Duration{"small": time.Hour, "large": time.Hour}
			for range 150 { // the fastest of many: other load only adds time
				for session, fastest := range took {
					start := time.Now()
					if _, err := (transcript.Store{}).Window(t.Context(), db.Read(), session, w); err != nil {
						t.Fatal(err)
					}
					took[session] = min(fastest, time.Since(start))
				}
			}
			t.Logf("%+v: %v of %d entries, %v of %d (%.2fx)", w, took["small"], small, took["large"], large,
				float64(took["large"])/float64(took["small"]))
			if took["large"] > 5*took["small"]+time.Millisecond {
				t.Errorf("%+v takes %v of %d entries and %v of %d", w, took["small"], small, took["large"], large)
			}
		}
	})
}

// grow stores n entries m1, m2, ... in one statement.
func grow(t *testing.T, db *database.DB, session string, n int) {
	t.Helper()
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(),
			`with recursive n (i) as (select 1 union all select i + 1 from n where i < cast($2 as bigint))
			insert into transcript_entries (session_id, message_id, ordinal, place, turn_id, role, type, content, status)
			select cast($1 as text), 'm' || i, i, i * 128, 't', 'user', 'x', 'some words', 'complete' from n`, session, n)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func explain(t *testing.T, db *database.DB, w transcript.Window) string {
	t.Helper()
	statement, args := transcript.WindowStatement(w, "large")
	prefix := "explain query plan "
	if db.Engine() == database.Postgres {
		prefix = "explain "
	}
	rows, err := db.Read().QueryContext(t.Context(), prefix+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var line, skipped1, skipped2, skipped3 any
		dest := []any{&line}
		if db.Engine() == database.SQLite {
			dest = []any{&skipped1, &skipped2, &skipped3, &line}
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&plan, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
