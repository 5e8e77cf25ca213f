package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/lib/objectstore"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/journal/archive"
	"harness/tests/dbtest"
	"harness/tests/s3test"
)

// each runs a test on both databases, with a bucket and with a folder.
func each(t *testing.T, test func(t *testing.T, db *database.DB, files archive.Files)) {
	t.Helper()
	t.Run("bucket", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, db *database.DB) {
			options := s3test.Start(t).Options
			options.Prefix = "a prefix/"
			store, err := objectstore.Open(options)
			if err != nil {
				t.Fatal(err)
			}
			test(t, db, store)
		})
	})
	t.Run("folder", func(t *testing.T) {
		dbtest.Each(t, func(t *testing.T, db *database.DB) {
			test(t, db, archive.Folder{Dir: filepath.Join(t.TempDir(), "archive")})
		})
	})
}

func start(t *testing.T, db *database.DB) *journal.Journal {
	t.Helper()
	log := journal.New(db, journal.Options{Archived: true})
	if err := log.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return log
}

// add appends events of two sessions in turn.
func add(t *testing.T, log *journal.Journal, count int) {
	t.Helper()
	for i := range count {
		if _, err := log.Append(t.Context(), journal.Event{SessionID: fmt.Sprintf("s%d", i%2), Type: "t", Source: "test",
			Actor: "someone", TurnID: "turn", Payload: json.RawMessage(fmt.Sprintf(`{"n": %d, "text":"<ä>"}`, i))}); err != nil {
			t.Fatal(err)
		}
	}
}

func run(t *testing.T, a *archive.Archiver) {
	t.Helper()
	if err := a.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// ranges returns the archived ranges, as first-last.
func ranges(t *testing.T, files archive.Files) (all []string) {
	t.Helper()
	found, err := archive.List(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		all = append(all, fmt.Sprintf("%d-%d", r.From, r.To))
	}
	return all
}

func want(t *testing.T, files archive.Files, all ...string) {
	t.Helper()
	if is := ranges(t, files); !reflect.DeepEqual(is, all) {
		t.Errorf("archived are %v, want %v", is, all)
	}
}

// read returns all archived events.
func read(t *testing.T, files archive.Files) (all []journal.Record) {
	t.Helper()
	found, err := archive.List(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		if err := archive.Read(t.Context(), files, r, func(line *archive.Line) error {
			all = append(all, whole(t, line))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// whole reads a line as docs/operations.md describes it.
func whole(t *testing.T, line *archive.Line) journal.Record {
	t.Helper()
	var text bytes.Buffer
	if _, err := line.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	var rest struct {
		Meta, Payload         json.RawMessage
		MetaText, PayloadText string
	}
	if err := json.Unmarshal(text.Bytes(), &rest); err != nil {
		t.Fatalf("a line is %.500s: %v", &text, err)
	}
	record := line.Record
	if record.Meta = rest.Meta; rest.MetaText != "" {
		record.Meta = json.RawMessage(rest.MetaText)
	}
	if record.Payload = rest.Payload; rest.PayloadText != "" {
		record.Payload = json.RawMessage(rest.PayloadText)
	}
	return record
}

func stored(t *testing.T, log *journal.Journal) []journal.Record {
	t.Helper()
	records, err := log.Read(t.Context(), journal.Query{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// same compares archived events with stored ones.
func same(t *testing.T, archived, stored []journal.Record) {
	t.Helper()
	if len(archived) != len(stored) {
		t.Fatalf("%d events are archived, %d are stored", len(archived), len(stored))
	}
	for i := range archived {
		if !reflect.DeepEqual(archived[i], stored[i]) {
			t.Fatalf("archived is %.500v\nstored is %.500v", archived[i], stored[i])
		}
	}
}

// Ranges close by their number of events, their bytes and their age. Archived events equal the stored ones byte for
// byte, and only archived events are pruned.
func TestRangesAreArchivedBeforeTheyArePruned(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB, files archive.Files) {
		log := start(t, db)
		now := time.Now()
		a := archive.New(archive.Options{Journal: log, DB: db, Files: files, Events: 10, Bytes: 3 << 20,
			Now: func() time.Time { return now }})
		add(t, log, 25)
		if gone, err := log.Prune(t.Context(), 1); gone != 0 || err != nil {
			t.Fatalf("%d events were pruned before they were archived: %v", gone, err)
		}
		run(t, a)
		want(t, files, "1-10", "11-20")
		long := `"` + strings.Repeat("x", 2<<20) + `"`
		for _, payload := range []string{long, "{\n\"lines\": [1,\r\n2]}", "null", long} {
			if _, err := log.Append(t.Context(), journal.Event{SessionID: "s0", Type: "t", Payload: json.RawMessage(payload),
				Meta: json.RawMessage(`{"a":1}`)}); err != nil {
				t.Fatal(err)
			}
		}
		run(t, a) // nine events, the last of which is young
		want(t, files, "1-10", "11-20")
		now = now.Add(25 * time.Hour)
		run(t, a)
		want(t, files, "1-10", "11-20", "21-29")
		now = time.Now()
		same(t, read(t, files), stored(t, log))
		add(t, log, 1)
		if gone, err := log.Prune(t.Context(), 1); gone != 29 || err != nil {
			t.Errorf("%d events were pruned, want 29: %v", gone, err)
		}
		add(t, log, 9)
		run(t, a)
		want(t, files, "1-10", "11-20", "21-29", "30-39")
		for range 2 {
			if _, err := log.Append(t.Context(), journal.Event{Type: "t", Payload: json.RawMessage(long)}); err != nil {
				t.Fatal(err)
			}
		}
		add(t, log, 8)
		run(t, a)
		want(t, files, "1-10", "11-20", "21-29", "30-39", "40-41") // together they are too long
	})
}

// Several processes that archive at once, and one that ended between storing a range and recording it, leave one object
// for each range.
func TestARangeIsArchivedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB, files archive.Files) {
		log := start(t, db)
		add(t, log, 60)
		lost := errors.New("the process ends here")
		ends := archive.New(archive.Options{Journal: log, DB: db, Files: ending{files, lost}, Events: 10})
		if err := ends.Run(t.Context()); !errors.Is(err, lost) {
			t.Fatal(err)
		}
		want(t, files, "1-10")
		var all sync.WaitGroup
		for events := range int64(4) {
			all.Go(func() {
				a := archive.New(archive.Options{Journal: log, DB: db, Files: files, Events: 10 + events%2*2})
				if err := a.Run(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		later := archive.New(archive.Options{Journal: log, DB: db, Files: files, Events: 1000,
			Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
		run(t, later) // objects that belong to no range are removed
		var named []string
		for _, r := range noted(t, db) {
			named = append(named, fmt.Sprintf("%d-%d", r[0], r[1]-1))
		}
		want(t, files, named...)
		next := int64(1)
		for _, r := range noted(t, db) {
			if r[0] != next {
				t.Errorf("a range begins at %d, want %d", r[0], next)
			}
			next = r[1]
		}
		if next < 50 {
			t.Errorf("archived are the events below %d", next)
		}
	})
}

// ending simulates a process that ends after each stored object.
type ending struct {
	archive.Files
	err error
}

func (e ending) Open(context.Context, string) (io.ReadSeekCloser, error) { return nil, e.err }

func noted(t *testing.T, db *database.DB) [][2]int64 {
	t.Helper()
	all, err := database.ReadAll(t.Context(), db.Read(), "read the archive", func(row database.Row) (r [2]int64, err error) {
		return r, row.Scan(&r[0], &r[1])
	}, `select first_pos, next_pos from journal_archives order by first_pos`)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The content of a permanently deleted session is removed from the archive, too, even if the session was deleted while
// its range was being stored. The rest stays unchanged.
func TestADeletedSessionIsRedactedInTheArchive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB, files archive.Files) {
		log := start(t, db)
		a := archive.New(archive.Options{Journal: log, DB: db, Files: files, Events: 10})
		add(t, log, 20)
		run(t, a)
		add(t, log, 10)
		remove := func(session string) {
			t.Helper()
			if _, err := log.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				return nil, journal.Redact(ctx, tx, session)
			}); err != nil {
				t.Fatal(err)
			}
		}
		meanwhile := archive.New(archive.Options{Journal: log, DB: db, Events: 10,
			Files: between{files, sync.OnceFunc(func() { remove("s1") })}})
		for range 2 {
			run(t, meanwhile)
			run(t, a)
		}
		same(t, read(t, files), stored(t, log))
		want(t, files, "1-10", "11-20", "21-30")
		for _, r := range read(t, files) {
			if r.SessionID == "s1" && (r.Type != journal.EventRedacted || string(r.Payload) != "null" || r.Actor != "") {
				t.Errorf("of the deleted session there is %+v", r)
			}
		}
		// An object whose keeper released it is no reason to stop.
		found, err := archive.List(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		if err := files.Remove(t.Context(), found[0].Name()); err != nil {
			t.Fatal(err)
		}
		remove("s0")
		run(t, a)
		want(t, files, "11-20", "21-30")
	})
}

// between calls a function before each stored object.
type between struct {
	archive.Files
	do func()
}

func (b between) Put(ctx context.Context, name string, content []byte) error {
	b.do()
	return b.Files.Put(ctx, name, content)
}

// If the archive cannot be reached, or returns other content, that is an error, and nothing is pruned.
func TestNothingIsPrunedWithoutAnArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		log := start(t, db)
		add(t, log, 10)
		folder := archive.Folder{Dir: t.TempDir()}
		for name, files := range map[string]archive.Files{"away": away{folder}, "damaged": damaged{folder}} {
			if err := archive.New(archive.Options{Journal: log, DB: db, Files: files, Events: 10}).Run(t.Context()); err == nil {
				t.Errorf("%s: archived", name)
			}
			if gone, err := log.Prune(t.Context(), 1); gone != 0 || err != nil {
				t.Errorf("%s: %d events were pruned: %v", name, gone, err)
			}
		}
	})
}

type away struct{ archive.Files }

func (away) Put(context.Context, string, []byte) error {
	return errors.New("the bucket does not answer")
}

type damaged struct{ archive.Files }

func (d damaged) Put(ctx context.Context, name string, content []byte) error {
	return d.Files.Put(ctx, name, content[:len(content)-20])
}
