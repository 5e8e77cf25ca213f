package scrub_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/scrub"
	"harness/migrations"
	"harness/tests/bitrot"
	"harness/transcript"
)

const (
	sessions = 4
	written  = 800 // events, each with its entry
)

// shown is what readers of a store get: events by position, entries by session.
type shown struct {
	events  []journal.Record
	entries [sessions][]transcript.Entry
}

// write creates a store with events, and entries in their events, in separate rows and in parts.
func write(t *testing.T, path string) {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Up(t.Context(), db, path+".lock"); err != nil {
		t.Fatal(err)
	}
	j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range written {
		session := strconv.Itoa(n % sessions)
		entry := transcript.Entry{MessageID: fmt.Sprint("m", n), TurnID: fmt.Sprint("t", n/20), Role: "assistant", Type: "agentMessage",
			Content: strings.Repeat(fmt.Sprint("text ", n, " "), 1+random.IntN(150)), Status: transcript.Complete}
		payload, _ := entry.AppendUpdate(nil, session)
		_, err := j.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			put := transcript.Put{SessionID: session, Entry: entry}
			if n%3 > 0 {
				put.Pos = journal.NextPos(ctx)
			}
			return []journal.Event{{SessionID: session, ItemID: entry.MessageID, Type: "transcript_item_updated", Payload: payload}},
				transcript.Store{}.UpsertAll(ctx, tx, []transcript.Put{put})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// read returns what readers get, or their error.
func read(ctx context.Context, db *database.DB) (all shown, err error) {
	j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if all.events, err = j.Read(ctx, journal.Query{Limit: 1000}); err != nil {
		return all, err
	}
	for session := range all.entries {
		if all.entries[session], err = (transcript.Store{}).List(ctx, db.Read(), strconv.Itoa(session)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// served counts the results that differ from the written data without an error, and reports whether any is missing or
// elsewhere.
func served(truth, now shown) (wrong int, named, moved bool) {
	events := map[int64]journal.Record{}
	for _, event := range truth.events {
		events[event.Pos] = event
	}
	for i, event := range now.events {
		switch was := events[event.Pos]; {
		case event.Type == journal.EventDamaged:
			named = true
		case !reflect.DeepEqual(event, was):
			wrong++
		case truth.events[min(i, len(truth.events)-1)].Pos != event.Pos:
			moved = true
		}
	}
	moved = moved || len(now.events) != len(truth.events)
	for session := range truth.entries {
		entries := map[string]transcript.Entry{}
		for _, entry := range truth.entries[session] {
			entries[entry.MessageID] = entry
		}
		for i, entry := range now.entries[session] {
			switch was := entries[entry.MessageID]; {
			case entry.Type == transcript.TypeDamaged:
				named = true
			case !entry.Equal(was):
				wrong++
			case i >= len(truth.entries[session]) || truth.entries[session][i].MessageID != entry.MessageID:
				moved = true
			}
		}
		moved = moved || len(now.entries[session]) != len(truth.entries[session])
	}
	return wrong, named, moved
}

// A flipped bit in the database never changes what a reader gets: the error names the row, or the store refuses. A
// scrub finds what no reader can detect, such as an entry missing in an index. Without checksums, readers get wrong
// data.
func TestAFlippedBitInTheDatabaseIsNeverShown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "harness.db")
	write(t, path)
	whole, truth := observation(t, path, "")
	tries := bitrot.Flips(t, 100)
	random := rand.New(rand.NewPCG(3, 4))
	counts := map[string]int{}
	for range tries {
		bit := random.IntN(8 * len(whole))
		what := outcomeOf(t, whole, bit, truth)
		if counts[what]++; strings.HasPrefix(what, "silent") {
			t.Errorf("bit %d: %s", bit, what)
		}
	}
	unchecked, _ := observation(t, path, `update journal_events set checksum = null; update transcript_entries set checksum = null`)
	control := 0
	for range max(60, tries/10) {
		if outcomeOf(t, unchecked, random.IntN(8*len(unchecked)), truth) == unnoticedWrong {
			control++
		}
	}
	t.Logf("%d flips in %d KiB: %v; without checksums %d of %d were shown", tries, len(whole)>>10, counts, control, max(60, tries/10))
	if counts["named"] < tries/5 || control == 0 {
		t.Errorf("of %d flips %v; without checksums %d were shown", tries, counts, control)
	}
}

// observation returns the file of a store, after some statements, and what readers get from it.
func observation(t *testing.T, path, statements string) (file []byte, truth shown) {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if statements != "" {
		if _, err := db.Raw().ExecContext(t.Context(), statements); err != nil {
			t.Fatal(err)
		}
	}
	truth, err = read(t.Context(), db)
	if closed := db.Close(); err != nil || closed != nil || len(truth.events) != written ||
		len(truth.entries[0]) != written/sessions {
		t.Fatal(err, closed, len(truth.events), len(truth.entries[0]))
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, truth
}

const (
	unnoticedWrong   = "silent: something is shown that was not written"
	unnoticedMissing = "silent: something is missing or elsewhere, and a scrub does not find it"
)

// outcomeOf returns the effect of a flip.
func outcomeOf(t *testing.T, whole []byte, bit int, truth shown) string {
	t.Helper()
	rotten, path := bytes.Clone(whole), filepath.Join(t.TempDir(), "harness.db")
	rotten[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, rotten, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := database.Open(t.Context(), database.Options{Path: path, Marker: migrations.Marker})
	if err != nil {
		return "refused"
	}
	defer func() { _ = db.Close() }()
	now, err := read(t.Context(), db)
	if err != nil {
		return "refused"
	}
	wrong, named, moved := served(truth, now)
	found := wrong == 0 && (moved || !named) && scrubbed(t, db)
	switch {
	case wrong > 0:
		return unnoticedWrong
	case moved && !found:
		return unnoticedMissing
	case named:
		return "named"
	case moved:
		return "found by a scrub"
	case found:
		return "shown as written, found by a scrub"
	}
	return "shown as written"
}

func scrubbed(t *testing.T, db *database.DB) bool {
	t.Helper()
	found := 0
	if _, err := scrub.Run(t.Context(), scrub.Options{DB: db, Found: func(scrub.Row) { found++ }}); err != nil {
		return true
	}
	problems, err := scrub.Structure(t.Context(), db, 1)
	return found > 0 || err != nil || len(problems) > 0
}
