package workingtree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/services/workingtree"
)

// site is a service that watches one folder.
type site struct {
	*workingtree.Service
	t      *testing.T
	base   string
	folder string
	clock  time.Time

	mu        sync.Mutex
	published []workingtree.Update
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, base: t.TempDir(), clock: time.UnixMilli(1_800_000_000_000)}
	s.folder = filepath.Join(s.base, "work")
	if err := os.Mkdir(s.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s.write("a", "1\n")
	s.start()
	return s
}

// start starts the service, as after a restart of the server.
func (s *site) start() {
	s.t.Helper()
	s.Service = workingtree.New(workingtree.Options{
		Dir: filepath.Join(s.base, "data", "shadows"), Keep: []string{filepath.Join(s.base, "data")}, Logger: zerolog.Nop(),
		FolderOf: func(context.Context, string) (string, error) { return s.folder, nil },
		Clock:    func() time.Time { return s.clock },
		Publish: func(_ context.Context, update workingtree.Update) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.published = append(s.published, update)
			return nil
		},
	})
	if err := s.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.Stop(context.Background()) })
}

// restart stops the service, which waits for its work, and starts it again.
func (s *site) restart() {
	s.t.Helper()
	if err := s.Stop(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

func (s *site) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// turn runs a turn that does something. At its end the service's work is over.
func (s *site) turn(session, id string, do func()) {
	s.t.Helper()
	s.clock = s.clock.Add(time.Minute)
	s.Begin(s.t.Context(), session, s.folder)(id)
	s.settle()
	do()
	s.Ended(session, id)
	s.settle()
}

func (s *site) settle() { s.Service.Settle() }

func (s *site) changes(session string, base workingtree.Base) string {
	s.t.Helper()
	s.clock = s.clock.Add(time.Minute)
	found, err := s.Changes(s.t.Context(), session, s.folder, base)
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, file := range found.Files {
		all = append(all, string(file.Kind)+" "+workingtree.ShownPath(file.Path)+" "+file.TurnID)
	}
	return strings.Join(all, ", ")
}

// WT-07
func TestChangesAreThoseSinceTheFirstTurn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got := s.changes("s", workingtree.Base{}); got != "" {
		t.Fatalf("before the first turn: %s", got)
	}
	s.turn("s", "one", func() { s.write("b", "b\n") })
	s.write("by-hand", "x\n")
	s.turn("s", "two", func() {
		s.write("a", "2\n")
		s.write("undone", "x\n")
	})
	if err := os.Remove(filepath.Join(s.folder, "undone")); err != nil {
		t.Fatal(err)
	}
	want := "modified a two, added b one, added by-hand "
	for range 2 {
		if got := s.changes("s", workingtree.Base{}); got != want {
			t.Errorf("since the first turn: %q, want %q", got, want)
		}
		if got, want := s.changes("s", workingtree.Base{Turn: "one"}), "added b one"; got != want {
			t.Errorf("of turn one: %q, want %q", got, want)
		}
		if got, want := s.changes("s", workingtree.Base{Turn: "two"}), "modified a two, added undone two"; got != want {
			t.Errorf("of turn two: %q, want %q", got, want)
		}
		s.restart()
	}
	// What a turn changed is no longer its own after another change.
	s.write("b", "by hand\n")
	if got, want := s.changes("s", workingtree.Base{}), "modified a two, added b , added by-hand "; got != want {
		t.Errorf("after a change by hand: %q, want %q", got, want)
	}
	if _, err := s.Changes(t.Context(), "s", s.folder, workingtree.Base{Turn: "none"}); !errors.Is(err, workingtree.ErrUnknownTurn) {
		t.Errorf("an unknown turn: %v", err)
	}
	patch, err := s.Diff(t.Context(), "s", s.folder, workingtree.Base{}, "a", 3)
	if err != nil || !strings.Contains(string(patch), "-1\n+2\n") || strings.Contains(string(patch), "by-hand") {
		t.Errorf("%v: %s", err, patch)
	}
	// Another session in the same folder begins later.
	s.turn("other", "three", func() { s.write("c", "c\n") })
	if got, want := s.changes("other", workingtree.Base{}), "added c three"; got != want {
		t.Errorf("of another session: %q, want %q", got, want)
	}
	s.Forget("s", s.folder)
	s.settle()
	if got := s.changes("s", workingtree.Base{}); got != "" {
		t.Errorf("of a deleted session: %q", got)
	}
	if got, want := s.changes("other", workingtree.Base{}), "added c three"; got != want {
		t.Errorf("of the other session: %q, want %q", got, want)
	}
	s.Forget("other", s.folder)
	s.settle()
	if left, err := filepath.Glob(filepath.Join(s.base, "data", "shadows", "*")); err != nil || len(left) > 0 {
		t.Errorf("after the deletion of the last session: %v, %v", left, err)
	}
	s.turn("later", "four", func() { s.write("d", "d\n") })
	if got, want := s.changes("later", workingtree.Base{}), "added d four"; got != want {
		t.Errorf("of a later session: %q, want %q", got, want)
	}
}

// WT-07
func TestATurnWhoseEndWasNotSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.clock = s.clock.Add(time.Minute)
	s.Begin(t.Context(), "s", s.folder)("killed")
	s.settle()
	s.write("a", "by the turn\n")
	s.restart()
	if got, want := s.changes("s", workingtree.Base{Turn: "killed"}), "modified a killed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.turn("s", "next", func() { s.write("b", "b\n") })
	if got, want := s.changes("s", workingtree.Base{Turn: "killed"}), "modified a killed"; got != want {
		t.Errorf("after the next turn: %q, want %q", got, want)
	}
}

// WT-08
func TestFoldersThatAreNotWatched(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, folder := range []string{"/", s.base, filepath.Join(s.base, "data"), filepath.Join(s.base, "data", "shadows"), "relative",
		filepath.Join(s.base, "missing")} {
		s.Begin(t.Context(), "s", folder)("turn")
		s.settle()
		var refused *workingtree.UnavailableError
		if _, err := s.Changes(t.Context(), "s", folder, workingtree.Base{}); !errors.As(err, &refused) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// WT-11
func TestOtherSessionsOfAFolderAreNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.turn("one", "1", func() { s.write("both", "1\n"); s.write("mine", "1\n") })
	s.turn("two", "2", func() { s.write("both", "2\n"); s.write("its", "2\n") })
	found, err := s.Changes(t.Context(), "one", s.folder, workingtree.Base{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found.Files {
		want := map[string]string{"both": "two", "its": "two"}[file.Path]
		if got := strings.Join(file.AlsoIn, ","); got != want {
			t.Errorf("%s is also in %q, want %q", file.Path, got, want)
		}
	}
	if len(found.Files) != 3 {
		t.Errorf("%d files", len(found.Files))
	}
	var refused *workingtree.UnavailableError
	if _, err := s.Changes(t.Context(), "one", s.folder, workingtree.Base{Branch: true}); !errors.As(err, &refused) {
		t.Errorf("the last commit of no repository: %v", err)
	}
}

// WT-12
func TestUpdatesAreThoseOfTheFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.turn("s", "none", func() { s.Wrote("s", "none") })
	if len(s.published) != 0 {
		t.Errorf("without a change: %+v", s.published)
	}
	s.turn("s", "t", func() {
		s.write("a", "1\n2\n")
		for range 20 {
			s.Wrote("s", "t")
		}
		s.settle()
		if len(s.published) != 1 || s.published[0].Files != 1 || s.published[0].Added != 1 || s.published[0].TurnID != "t" {
			t.Errorf("in the turn: %+v", s.published)
		}
		s.Wrote("s", "t")
	})
	if len(s.published) != 1 {
		t.Errorf("for the same files: %+v", s.published)
	}
	s.turn("s", "u", func() { s.write("a", "1\n") })
	if len(s.published) != 2 || s.published[1].Files != 0 || s.published[1].Tree == s.published[0].Tree {
		t.Errorf("after the change was undone: %+v", s.published)
	}
}

// WT-13
func TestContentsOfOldTurnsAreRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	objects := func() (all int) {
		_ = filepath.WalkDir(filepath.Join(s.base, "data", "shadows"), func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.Contains(path, "/objects/") && len(filepath.Base(filepath.Dir(path))) == 2 {
				all++
			}
			return nil
		})
		return all
	}
	s.turn("s", "first", func() { s.write("a", "x\n") })
	if objects() != 0 { // a new shadow is collected at once
		t.Error("the first turn left loose contents")
	}
	s.write("b", "seen between turns\n")
	s.changes("s", workingtree.Base{})
	s.write("b", "at last\n")
	s.turn("s", "second", func() {})
	if objects() == 0 {
		t.Fatal("nothing to collect")
	}
	s.clock = s.clock.Add(8 * 24 * time.Hour)
	s.turn("s", "third", func() {})
	if objects() != 0 {
		t.Error("what no state has is still there after a week")
	}
	if got, want := s.changes("s", workingtree.Base{}), "modified a first, added b "; got != want {
		t.Errorf("after the collection: %q, want %q", got, want)
	}
}
