package shadow_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/lib/shadow"
)

const payload = "$PWD/../payload"

// attacks are repositories that run a program when a person uses git in them. plain shows that the attack is real.
var attacks = []struct {
	name, setUp, plain string
}{
	{"hooks", "for h in post-index-change post-checkout pre-commit reference-transaction post-commit; do cp ../payload .git/hooks/$h; done",
		"git add -A; git commit -qm x; git checkout -q -b z"},
	{"core.hooksPath", "mkdir h; cp ../payload h/post-index-change; cp ../payload h/reference-transaction; git config core.hooksPath $PWD/h",
		"git add -A; git update-ref refs/x HEAD"},
	{"core.fsmonitor", "git config core.fsmonitor " + payload, "git status"},
	{"filter of clean and smudge", "git config filter.e.clean " + payload + "; git config filter.e.smudge " + payload +
		"; git config filter.e.required true; echo '* filter=e' > .gitattributes", "git add -A || true"},
	{"filter process", "git config filter.e.process " + payload + "; echo '* filter=e' > .gitattributes", "git add -A || true"},
	{"diff.external", "git config diff.external " + payload, "git diff HEAD"},
	{"textconv", "git config diff.e.textconv " + payload + "; echo '* diff=e' > .gitattributes", "git diff HEAD"},
	{"diff command", "git config diff.e.command " + payload + "; echo '* diff=e' > .gitattributes", "git diff HEAD"},
	{"editor", "git config core.pager " + payload + "; git config core.editor " + payload, "env -u GIT_EDITOR git commit -a || true"},
	{"gpg.program", "git config gpg.program " + payload + "; git config commit.gpgSign true", "git commit -qam x || true"},
	{"include of a configuration", "printf '[core]\\n\\tfsmonitor = %s\\n' " + payload +
		" > evil.inc; git config include.path $PWD/evil.inc", "git status"},
	{"submodule", "git init -q ../sub; (cd ../sub; echo s > s; git add s; git commit -qm s); " +
		"git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; git -C sub config core.fsmonitor " +
		payload + "; echo x >> sub/s", "git status"},
	{"nested repository", "git init -q in; (cd in; echo i > i; git add i; git commit -qm i); git -C in config core.fsmonitor " + payload +
		"; git add in 2>/dev/null; git commit -qm in; echo x >> in/i", "git status"},
	{"lazy fetch", "git config remote.o.url \"ext::" + payload + " %S\"; git config remote.o.promisor true; " +
		"git config extensions.partialClone o; git config core.repositoryFormatVersion 1; git config protocol.ext.allow always; " +
		"rm -f .git/objects/$(git rev-parse HEAD:a | sed 's#^..#&/#')", "git diff HEAD || true; git cat-file -p HEAD:a || true"},
	{"git file that leads elsewhere", "mv .git ../poison; git -C ../poison config core.bare false; git -C ../poison config core.fsmonitor " +
		payload + "; echo \"gitdir: $PWD/../poison\" > .git", "git status"},
	{"repository above", "cd ..; git init -q .; git config core.fsmonitor $PWD/payload; cd work; rm -rf .git", "git status"},
	{"embedded bare repository", "mkdir bare; git init -q --bare bare; git -C bare config core.fsmonitor " + payload +
		"; git -C bare config core.bare false; git -C bare config core.worktree $PWD", "(cd bare; git status || true)"},
}

// WT-01
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			base, folder := repository(t, attack.setUp)
			ran := filepath.Join(base, "RAN")
			_ = os.Remove(ran)
			s := open(t, base, folder)
			before := capture(t, s)
			if out, err := person(t, folder, "echo changed > a; echo new > new"); err != nil {
				t.Fatal(out)
			}
			after := capture(t, s)
			changes, err := s.Compare(t.Context(), before.Tree, after.Tree)
			if err != nil || len(changes) != 2 {
				t.Fatalf("changes %v, %v", changes, err)
			}
			if _, err := s.Patch(t.Context(), before.Tree, after.Tree, 3); err != nil {
				t.Fatal(err)
			}
			for _, step := range [][2]string{{after.Tree, before.Tree}, {before.Tree, after.Tree}} {
				if err := s.Restore(t.Context(), step[0], step[1]); err != nil {
					t.Fatal(err)
				}
			}
			if data, err := os.ReadFile(ran); err == nil {
				t.Fatalf("the repository ran %s", data)
			}
			out, _ := person(t, folder, attack.plain)
			if _, err := os.Stat(ran); err != nil {
				t.Fatalf("a person's git runs nothing here, so this shows nothing: %s", out)
			}
		})
	}
}

// WT-02
func TestNothingOutsideIsReadOrWritten(t *testing.T) {
	t.Parallel()
	outside := func(t *testing.T, base string) string {
		if err := os.Mkdir(filepath.Join(base, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(base, "out", "c")
		if err := os.WriteFile(path, []byte("outside\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("core.worktree", func(t *testing.T) {
		t.Parallel()
		base, folder := repository(t, "git config core.worktree $PWD/../out")
		outside(t, base)
		s := open(t, base, folder)
		empty, err := s.Empty(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changes, err := s.Compare(t.Context(), empty, capture(t, s).Tree)
		if err != nil || len(changes) != 3 || changes[2].Path != "d/c" {
			t.Fatalf("%v, %v", changes, err)
		}
	})
	t.Run("a link in place of a folder", func(t *testing.T) {
		t.Parallel()
		base, folder := repository(t, "")
		path := outside(t, base)
		s := open(t, base, folder)
		before := capture(t, s)
		swap := "rm -r d; ln -s ../out d"
		if out, err := person(t, folder, swap); err != nil {
			t.Fatal(out)
		}
		after := capture(t, s)
		if patch, err := s.Patch(t.Context(), before.Tree, after.Tree, 3); err != nil || strings.Contains(string(patch), "outside") {
			t.Fatalf("read through the link: %v %s", err, patch)
		}
		if err := s.Restore(t.Context(), after.Tree, before.Tree); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(filepath.Join(folder, "d/c")); string(data) != "c\n" {
			t.Errorf("inside: %q", data)
		}
		if data, _ := os.ReadFile(path); string(data) != "outside\n" {
			t.Errorf("written through the link: %q", data)
		}
		// The same, after the last capture, with a link to a file in the way.
		if out, err := person(t, folder, "rm -r d; mkdir d; ln -s ../../out/c d/c"); err != nil {
			t.Fatal(out)
		}
		var changed *shadow.ChangedError
		if err := s.Restore(t.Context(), before.Tree, after.Tree); !errors.As(err, &changed) || len(changed.Paths) != 1 {
			t.Errorf("a restore of a changed folder: %v", err)
		}
		if data, _ := os.ReadFile(path); string(data) != "outside\n" {
			t.Errorf("written through the link: %q", data)
		}
	})
	t.Run("objects of a stranger", func(t *testing.T) {
		t.Parallel()
		base, folder := repository(t, "git init -q ../secret; (cd ../secret; echo topsecret > s; git add s; git commit -qm s); "+
			"echo $PWD/../secret/.git/objects > .git/objects/info/alternates; git -C ../secret rev-parse HEAD > .git/refs/heads/main")
		s := open(t, base, folder)
		if head, err := s.Head(t.Context()); head != "" || err != nil {
			t.Fatalf("the tree of a stranger's commit: %q, %v", head, err)
		}
		blob, err := person(t, filepath.Join(base, "secret"), "git rev-parse HEAD:s")
		if err != nil {
			t.Fatal(blob)
		}
		if data, err := s.Content(t.Context(), strings.TrimSpace(blob)); err == nil {
			t.Fatalf("read %q", data)
		}
	})
}

// WT-03
func TestASpecialFileDoesNotHoldTheFolder(t *testing.T) {
	t.Parallel()
	base, folder := repository(t, "")
	for _, name := range []string{".gitignore", "d/.gitattributes", "pipe"} {
		if err := syscall.Mkfifo(filepath.Join(folder, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := shadow.Open(t.Context(), shadow.Options{Folder: folder, Dir: filepath.Join(base, "shadow.git"), Limit: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Capture(t.Context()); err == nil || !strings.Contains(err.Error(), "did not end within") {
		t.Fatalf("a capture with a FIFO as .gitignore: %v", err)
	}
	if out, err := person(t, folder, "rm .gitignore d/.gitattributes"); err != nil {
		t.Fatal(out)
	}
	if state := capture(t, s); len(state.Skipped) != 0 || state.Files != 3 {
		t.Fatalf("%+v", state) // git itself does not list a FIFO
	}
}
