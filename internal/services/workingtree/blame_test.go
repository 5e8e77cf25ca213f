package workingtree_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/services/workingtree"
)

// blame shows a file's lines: the first number of each group, its turn ("-" for none, "?" if it is not certain) and its
// number of lines.
func (s *site) blame(file string) string {
	s.t.Helper()
	s.clock = s.clock.Add(time.Minute)
	found, err := s.Blame(s.t.Context(), s.folder, file)
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, lines := range found.Lines {
		owner := lines.TurnID
		if owner == "" {
			owner = "-"
		}
		if !lines.Certain {
			owner = "?"
		}
		all = append(all, fmt.Sprintf("%d %s %d", lines.From, owner, len(lines.Text)))
	}
	return strings.Join(all, ", ")
}

// numbered are lines that say more than "}".
func numbered(what string, from, to int) string {
	var out strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&out, "%s line number %d\n", what, i)
	}
	return out.String()
}

// WT-61
func TestLinesNameTheTurnThatWroteThem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	name := "a \"file\" of Zoë\n.go"
	own, first, second := numbered("a person's", 1, 9), numbered("the first turn's", 1, 5), numbered("the second turn's", 1, 4)
	s.write(name, own)
	s.turn("s", "one", func() {
		s.write(name, own+first)
		if got, want := s.blame(name), "1 - 9, 10 one 5"; got != want {
			t.Errorf("while the first turn runs: %q, want %q", got, want)
		}
	})
	if got, want := s.blame(name), "1 - 9, 10 one 5"; got != want {
		t.Errorf("after the first turn: %q, want %q", got, want)
	}
	s.write(name, "typed by hand\n"+own+first)
	s.turn("other", "two", func() {
		s.write(name, "typed by hand\n"+own+second+first)
		if got, want := s.blame(name), "1 - 10, 11 two 4, 15 one 5"; got != want {
			t.Errorf("while the second turn runs: %q, want %q", got, want)
		}
	})
	for range 2 {
		if got, want := s.blame(name), "1 - 10, 11 two 4, 15 one 5"; got != want {
			t.Errorf("after the second turn: %q, want %q", got, want)
		}
		s.restart()
	}
	// By hand: indented, moved to another file and renamed. Then one line is changed.
	if err := os.Remove(filepath.Join(s.folder, name)); err != nil {
		t.Fatal(err)
	}
	indented := strings.ReplaceAll("typed by hand\n"+own+first, "the first", "\tthe first")
	s.write("renamed", indented)
	s.write("moved", "an own line\n"+second)
	s.turn("s", "three", func() {
		s.write("renamed", strings.Replace(indented, "first turn's line number 2", "changed line number 2", 1))
	})
	if got, want := s.blame("renamed"), "1 - 10, 11 one 1, 12 three 1, 13 one 3"; got != want {
		t.Errorf("the renamed file: %q, want %q", got, want)
	}
	if got, want := s.blame("moved"), "1 - 1, 2 two 4"; got != want {
		t.Errorf("the moved lines: %q, want %q", got, want)
	}
	// An earlier content comes back, as from another branch.
	s.write(name, "typed by hand\n"+own+second+first)
	s.turn("s", "four", func() { s.write("elsewhere", "x\n") })
	if got, want := s.blame(name), "1 - 10, 11 two 4, 15 one 5"; got != want {
		t.Errorf("after its return: %q, want %q", got, want)
	}
}

// WT-62: lines that several turns may have written, and those of a turn without a known beginning, name none.
func TestLinesOfTurnsAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	own := numbered("a person's", 1, 5)
	s.write("a", own)
	s.turn("s", "before", func() {})
	s.clock = s.clock.Add(time.Minute)
	s.Begin(t.Context(), "s", s.folder)("long")
	s.settle()
	s.turn("other", "short", func() { s.write("a", own+numbered("a turn's", 1, 4)) })
	if got, want := s.blame("a"), "1 - 5, 6 ? 4"; got != want {
		t.Errorf("after one: %q, want %q", got, want)
	}
	s.write("b", numbered("a turn's other", 1, 4))
	s.Ended("s", "long")
	s.settle()
	if got, want := s.blame("b"), "1 ? 4"; got != want {
		t.Errorf("after both: %q, want %q", got, want)
	}
	s.write("c", numbered("by hand", 1, 4))
	s.Ended("s", "unseen")
	s.settle()
	if got, want := s.blame("c"), "1 ? 4"; got != want {
		t.Errorf("after a turn without a beginning: %q, want %q", got, want)
	}
	s.turn("s", "next", func() { s.write("a", own+numbered("a turn's", 1, 4)+numbered("the next turn's", 1, 3)) })
	if got, want := s.blame("a"), "1 - 5, 6 ? 4, 10 next 3"; got != want {
		t.Errorf("after the next turn: %q, want %q", got, want)
	}
}

// WT-63
func TestFilesWithoutLines(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("binary", "a\x00b\n")
	s.write("large", strings.Repeat("x\n", 1<<19+1))
	if err := os.Symlink("a", filepath.Join(s.folder, "link")); err != nil {
		t.Fatal(err)
	}
	s.write("empty", "")
	for _, file := range []string{"binary", "large", "missing", ".", "../work/a", "/etc/passwd", ":(glob)*", "*"} {
		var refused *workingtree.FileError
		if _, err := s.Blame(t.Context(), s.folder, file); !errors.As(err, &refused) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if got := s.blame("empty"); got != "" {
		t.Errorf("an empty file: %q", got)
	}
	if got, want := s.blame("a"), "1 - 1"; got != want {
		t.Errorf("before the first turn: %q, want %q", got, want)
	}
}
