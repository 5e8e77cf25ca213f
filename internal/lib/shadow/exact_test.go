package shadow_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/lib/shadow"
)

var exact = []struct {
	name, before, turn string
}{
	{"plain", "", "echo x >> a; rm b; echo n > new; mkdir -p e/f; echo g > e/f/g"},
	{"half staged", "echo staged >> a; git add a; echo unstaged >> a; git rm -q --cached b; echo u > untracked", "echo x >> a; rm -f b untracked"},
	{"stash and merge conflict", "echo s >> a; git stash -q; git checkout -q -b o; echo 1 > b; git commit -qam o; git checkout -q main; " +
		"echo 2 > b; git commit -qam m; git merge o || true", "git checkout -q --ours b; echo y > a"},
	{"sparse checkout", "mkdir far; echo f > far/f; git add -A; git commit -qm f; git sparse-checkout set --cone d", "echo x >> d/c; echo y >> a"},
	{"submodule", "git init -q ../sub; (cd ../sub; echo s > s; git add s; git commit -qm s); " +
		"git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub", "echo x >> a"},
	{"nested repository", "git init -q inner; echo i > inner/i", "echo x >> a"},
	{"links", "ln -s a l; ln -s /etc/passwd abs; ln -s d dl; git add -A; git commit -qm l", "rm l; echo no > l; rm dl; mkdir dl; echo q > dl/q; rm abs"},
	{"executable bit", "chmod +x a; git add -A; git commit -qm x", "chmod -x a; chmod +x b"},
	{"CRLF and text=auto", "printf 'x\\r\\ny\\r\\n' > w; printf 'x\\r\\ny\\n' > mixed; echo '* text=auto' > .gitattributes; git add -A; git commit -qm w",
		"printf 'z\\n' > w; printf 'k\\r\\n' > mixed"},
	{"encodings and ident", "printf 'a\\0b\\0' > u; printf '$Id$\\n' > i; printf 'u working-tree-encoding=UTF-16LE\\ni ident\\n' > .gitattributes; " +
		"git add -A 2>/dev/null; git commit -qm u", "echo 1 > u; echo 2 > i"},
	{"rename in case only", "echo r > readme; git add -A; git commit -qm r", "mv readme README"},
	{"file and folder change places", "", "rm a; mkdir a; echo x > a/x; rm -r d; echo d > d"},
	{"strange names", "echo 1 > $'n\\nl'; echo 2 > ./-rf; echo 3 > '*'; echo 4 > $'\\xff\\xfe'; echo 5 > ':(top)x'; git add -A; git commit -qm n",
		"echo 9 > $'n\\nl'; rm -- '-rf' '*'; echo 8 > $'\\xff\\xfe'; rm ':(top)x'"},
	{"assume-unchanged and skip-worktree", "git update-index --assume-unchanged a; git update-index --skip-worktree b", "echo lie >> a; echo lie >> b"},
	{"ignored and tracked", "echo '*.log' > .gitignore; echo t > t.log; git add -f t.log .gitignore; git commit -qm i", "echo x >> t.log"},
	{"no commit", "rm -rf .git; git init -q .; echo q > q", "echo x >> q; rm a"},
	{"no repository", "rm -rf .git", "echo x >> a; rm -r d; echo k > k"},
	{"detached, packed, locked", "git checkout -q --detach; git pack-refs --all; touch .git/index.lock", "echo x >> a"},
	{"commits in the turn", "", "echo x >> a; git commit -qam agent; echo y >> a"},
	{"beside a linked worktree", "git worktree add -q ../wt -b wt", "echo x >> a"},
	{"same size and time", "touch -d @1000000000 a", "printf z | dd of=a conv=notrunc status=none; touch -d @1000000000 a"},
	{"LFS without its program", "echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; echo data > x.bin; " +
		"git -c filter.lfs.clean=cat add -A; git commit -qm l", "echo other > x.bin"},
	{"fifo", "mkfifo p", "echo x >> a"},
	{"large and binary", "head -c 3000000 /dev/zero > big", "head -c 2000000 /dev/urandom > big; printf 'x\\0y' > bin"},
}

// WT-04
func TestAStateIsRestoredExactly(t *testing.T) {
	t.Parallel()
	for _, one := range exact {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			base, folder := repository(t, one.before)
			s := open(t, base, folder)
			contentBefore := content(folder)
			before := capture(t, s)
			if again := capture(t, s); again.Tree != before.Tree || again.Files != before.Files {
				t.Fatalf("a second capture differs: %+v, %+v", before, again)
			}
			if out, err := person(t, folder, one.turn); err != nil {
				t.Fatal(out)
			}
			contentAfter, git := content(folder), personsGit(folder)
			after := capture(t, s)
			if before.Tree == after.Tree || contentBefore == contentAfter {
				t.Fatal("the change was not seen")
			}
			// A server that starts anew restores the same.
			s = open(t, base, folder)
			if err := s.Restore(t.Context(), after.Tree, before.Tree); err != nil {
				t.Fatal(err)
			}
			if got := content(folder); got != contentBefore {
				t.Errorf("back:\n%s\nwant\n%s", got, contentBefore)
			}
			if err := s.Restore(t.Context(), before.Tree, after.Tree); err != nil {
				t.Fatal(err)
			}
			if got := content(folder); got != contentAfter {
				t.Errorf("forth:\n%s\nwant\n%s", got, contentAfter)
			}
			if personsGit(folder) != git {
				t.Error("the person's repository was changed")
			}
			if out, err := exec.CommandContext(t.Context(), "git", "--git-dir", filepath.Join(base, "shadow.git"), "fsck", "--strict").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// WT-04
func TestAStateOutlivesTheRepository(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "")
	s := open(t, base, folder)
	before := capture(t, s)
	if err := s.Keep(t.Context(), "session/turn/0", before.Tree); err != nil {
		t.Fatal(err)
	}
	want := content(folder)
	script := "rm -rf d; echo z > a; git add -A; git commit -q --amend -m other; git reflog expire --expire=now --all; git gc -q --prune=now; rm -rf .git"
	if out, err := person(t, folder, script); err != nil {
		t.Fatal(out)
	}
	after := capture(t, s)
	if err := s.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, err := s.Names(t.Context(), "session")
	kept := names["session/turn/0"]
	if err != nil || kept != before.Tree || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	if err := s.Restore(t.Context(), after.Tree, kept); err != nil {
		t.Fatal(err)
	}
	if got := content(folder); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if err := s.Drop(t.Context(), "session"); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Names(t.Context(), "session"); len(names) > 0 || err != nil {
		t.Errorf("after the drop: %q, %v", names, err)
	}
}

// WT-05
func TestChangesAreThoseOfTheFiles(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "mkdir sub; echo '/sub/out' > .gitignore; echo '*.log' >> .gitignore; for i in $(seq 50); do echo $i; done > old")
	s := open(t, base, folder)
	before := capture(t, s)
	if out, err := person(t, folder, "mv old moved; echo 51 >> moved; printf 'x\\0' > bin; rm b; chmod +x a; rm d/c; ln -s ../a d/c; echo no > x.log"); err != nil {
		t.Fatal(out)
	}
	changes, err := s.Compare(t.Context(), before.Tree, capture(t, s).Tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []shadow.Change{
		{Path: "a", Kind: shadow.Modified, Mode: "100755"},
		{Path: "b", Kind: shadow.Deleted, Mode: "100644", Removed: 1},
		{Path: "bin", Kind: shadow.Added, Mode: "100644", Binary: true},
		{Path: "d/c", Kind: shadow.Retyped, Mode: "120000", Added: 1, Removed: 1},
		{Path: "moved", From: "old", Kind: shadow.Renamed, Mode: "100644", Added: 1},
	}
	for i := range changes {
		changes[i].BlobFrom, changes[i].BlobTo = "", ""
	}
	if len(changes) != len(want) {
		t.Fatalf("%+v", changes)
	}
	for i := range want {
		if changes[i] != want[i] {
			t.Errorf("%+v, want %+v", changes[i], want[i])
		}
	}
	// In a folder below, the ignore files above it count, too.
	if err := os.WriteFile(filepath.Join(folder, "sub", "out"), []byte("o"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "sub", "y.log"), []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	below, err := shadow.Open(t.Context(), shadow.Options{Folder: filepath.Join(folder, "sub"), Dir: filepath.Join(base, "below.git")})
	if err != nil {
		t.Fatal(err)
	}
	if state := capture(t, below); state.Files != 0 {
		t.Errorf("%d files, want none", state.Files)
	}
}

// WT-06
func TestAPersonWorksBesideTheCaptures(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "for i in $(seq 100); do echo $i > f$i; done; git add -A; git commit -qm base")
	s := open(t, base, folder)
	done := make(chan error, 1)
	go func() {
		_, err := person(t, folder, "for n in $(seq 20); do echo new $n > f$n; git add -A; git commit -qm $n; git status >/dev/null; echo x >> f1; git stash -q; done")
		done <- err
	}()
	for captures := 0; ; captures++ {
		select {
		case err := <-done:
			if err != nil || captures == 0 {
				t.Errorf("%d captures; the person: %v", captures, err)
			}
			return
		default:
			capture(t, s)
		}
	}
}

// WT-10
func TestTheLastCommitIsReadWhenAsked(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "")
	s := open(t, base, folder)
	for turn, script := range []string{"echo 1 >> a; echo n > new", "git add -A; git commit -qm one; echo 2 >> a; echo i > ignored; echo ignored > .gitignore",
		"git add -A; git commit -qm two; git gc -q --prune=now; git pack-refs --all; rm b"} {
		if out, err := person(t, folder, script); err != nil {
			t.Fatal(out)
		}
		head, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes, err := s.Compare(t.Context(), head, capture(t, s).Tree)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range changes {
			got = append(got, change.Path)
		}
		shown, err := person(t, folder, "(git diff --name-only HEAD; git ls-files --others --exclude-standard) | sort")
		if want := strings.Fields(shown); err != nil || !slices.Equal(got, want) {
			t.Errorf("step %d: %q, git shows %q (%v)", turn, got, want, err)
		}
	}
}

// WT-14
func TestAKilledRestoreIsCompleted(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "for i in $(seq 30); do seq $i 300 > f$i; done; ln -s a l; chmod +x b; git add -A; git commit -qm f")
	s := open(t, base, folder)
	then := capture(t, s).Tree
	contentThen := content(folder)
	if out, err := person(t, folder, "for i in $(seq 15); do echo x > f$i; done; rm f16 f17 l; chmod -x b; mkdir n; echo n > n/n; rm -r d; echo d > d"); err != nil {
		t.Fatal(out)
	}
	now := capture(t, s).Tree
	contentNow := content(folder)
	for seed := range 30 {
		// A killed restore leaves each file as it was, as it will be, missing, or with the beginning of its content.
		random := rand.New(rand.NewPCG(1, uint64(seed)))
		for i := range 18 {
			name := filepath.Join(folder, fmt.Sprintf("f%d", i))
			done, err := person(t, folder, fmt.Sprintf("seq %d 300", i))
			if err != nil {
				t.Fatal(done)
			}
			switch random.IntN(4) {
			case 0:
				err = os.WriteFile(name, []byte(done), 0o644)
			case 1:
				err = os.WriteFile(name, []byte(done[:random.IntN(len(done))]), 0o644)
			case 2:
				err = os.RemoveAll(name)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(folder, "f0")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			s = open(t, base, folder)
		}
		if err := s.Restore(t.Context(), now, then); err != nil {
			t.Fatal(err)
		}
		if got := content(folder); got != contentThen {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, contentThen)
		}
		if err := s.Restore(t.Context(), then, now); err != nil {
			t.Fatal(err)
		}
		if got := content(folder); got != contentNow {
			t.Fatalf("seed %d, back:\n%s\nwant\n%s", seed, got, contentNow)
		}
	}
	// What a person did in the meantime stays: other files, and all files if one of them is in the way.
	if out, err := person(t, folder, "echo mine > mine; echo mine > f3"); err != nil {
		t.Fatal(out)
	}
	kept := content(folder)
	var changed *shadow.ChangedError
	if err := s.Restore(t.Context(), now, then); !errors.As(err, &changed) || !slices.Equal(changed.Paths, []string{"f3"}) || content(folder) != kept {
		t.Errorf("with a changed file: %v", err)
	}
	if out, err := person(t, folder, "echo x > f3"); err != nil {
		t.Fatal(out)
	}
	if err := s.Restore(t.Context(), now, then); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(folder, "mine")); err != nil || content(folder) != contentThen {
		t.Errorf("another file was not kept: %v", err)
	}
}
