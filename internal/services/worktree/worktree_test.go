package worktree_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/services/worktree"
)

// site is a service beside a person's repository whose configuration runs programs wherever git lets it.
type site struct {
	*worktree.Service
	t                  *testing.T
	base, repo, marker string
	clock              time.Time
	step               func(string)
}

func newSite(t *testing.T) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, base: base, repo: filepath.Join(base, "repo"), marker: filepath.Join(base, "ran"), clock: time.UnixMilli(1_800_000_000_000)}
	s.run(base, "git", "init", "-q", "-b", "main", "repo")
	s.put("repo/a.txt", "one\n")
	s.put("repo/sub/b.txt", "b\n")
	s.put("repo/crlf.txt", "a\r\nb\r\n")
	s.put("repo/.gitignore", "ignored\n")
	s.put("repo/.gitattributes", "* filter=evil -text\n")
	s.run(s.repo, "git", "add", "-A")
	s.run(s.repo, "git", "commit", "-qm", "first")
	s.poison()
	s.start()
	return s
}

// poison makes everything of the repository run a program that leaves a mark.
func (s *site) poison() {
	s.put("payload", "#!/bin/sh\necho \"$0 $*\" >> "+s.marker+"\ncat\n")
	payload := filepath.Join(s.base, "payload")
	s.do(os.Chmod(payload, 0o755))
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
		s.do(os.Symlink(payload, filepath.Join(s.repo, ".git", "hooks", hook)))
	}
	s.put("included", "[filter \"evil\"]\n\tsmudge = "+payload+"\n\tclean = "+payload+"\n\trequired = true\n")
	for key, value := range map[string]string{"core.fsmonitor": payload, "core.sshCommand": payload, "include.path": filepath.Join(s.base, "included"),
		"core.pager": payload, "core.editor": payload, "diff.external": payload, "gpg.program": payload, "core.alternateRefsCommand": payload} {
		s.run(s.repo, "git", "config", key, value)
	}
	s.forgetMarks()
}

func (s *site) start() {
	s.Service = worktree.New(worktree.Options{Dir: filepath.Join(s.base, "data", "worktrees"), Root: filepath.Join(s.base, "worktrees"),
		Keep: []string{filepath.Join(s.base, "data")}, Logger: zerolog.Nop(), Clock: func() time.Time { return s.clock },
		Step: func(name string) {
			if s.step != nil {
				s.step(name)
			}
		}})
	s.do(os.MkdirAll(filepath.Join(s.base, "data"), 0o700))
	s.do(s.Start(s.t.Context()))
	s.t.Cleanup(func() { _ = s.Stop(context.Background()) })
}

func (s *site) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) put(name, content string) {
	s.t.Helper()
	at := filepath.Join(s.base, name)
	s.do(os.MkdirAll(filepath.Dir(at), 0o755))
	s.do(os.WriteFile(at, []byte(content), 0o644))
}

func (s *site) run(dir string, args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), args[0], args[1:]...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// git runs git without the poison.
func (s *site) git(dir string, args ...string) string {
	s.t.Helper()
	return s.run(dir, append([]string{"git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.evil.smudge=",
		"-c", "filter.evil.clean=", "-c", "filter.evil.required=false"}, args...)...)
}

func (s *site) forgetMarks() {
	if err := os.Remove(s.marker); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
}

// requireNothingRan fails if a program of the repository ran.
func (s *site) requireNothingRan() {
	s.t.Helper()
	if ran, err := os.ReadFile(s.marker); err == nil {
		s.t.Errorf("the repository ran %s", ran)
	}
}

// made makes a worktree for a session.
func (s *site) made(wish worktree.Wish) worktree.Worktree {
	s.t.Helper()
	if wish.Folder == "" {
		wish.Folder = s.repo
	}
	one, err := s.Make(s.t.Context(), wish)
	s.do(err)
	s.do(s.Keep(one))
	return one
}

// requireRefused fails unless an error is a refusal that has a text.
func (s *site) requireRefused(err error, reason string) {
	s.t.Helper()
	var refused *worktree.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), reason) {
		s.t.Errorf("%v, want a refusal with %q", err, reason)
	}
}

// WT-34: a worktree has the files of the commit on a branch of its own, and nothing of the repository runs.
func TestAWorktreeHasTheFilesOfTheCommit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.run(s.repo, "git", "worktree", "add", "-q", "-b", "plain", filepath.Join(s.base, "plain"))
	if _, err := os.Stat(s.marker); err != nil {
		t.Fatal("git itself runs nothing of this repository")
	}
	s.git(s.repo, "worktree", "remove", "--force", filepath.Join(s.base, "plain"))
	s.forgetMarks()
	first := s.git(s.repo, "rev-parse", "HEAD")
	s.put("repo/a.txt", "not committed\n")
	one := s.made(worktree.Wish{Folder: filepath.Join(s.repo, "sub"), Branch: "harness/fix-it"})
	s.requireNothingRan()
	if one.Cwd() != filepath.Join(one.Folder, "sub") || !one.Has(one.Cwd()) || one.Has(s.repo) {
		t.Errorf("the session works in %s of %s", one.Cwd(), one.Folder)
	}
	for name, want := range map[string]string{"a.txt": "one\n", "sub/b.txt": "b\n", "crlf.txt": "a\r\nb\r\n"} {
		if content, err := os.ReadFile(filepath.Join(one.Folder, name)); err != nil || string(content) != want {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if got := s.git(one.Folder, "symbolic-ref", "HEAD"); got != "refs/heads/harness/fix-it" {
		t.Errorf("it is on %s", got)
	}
	if got := s.git(one.Folder, "diff-index", "--cached", "HEAD") + s.git(one.Folder, "ls-files", "-m", "-o", "--exclude-standard"); got != "" {
		t.Errorf("it differs from its commit: %s", got)
	}
	s.git(s.repo, "commit", "-qam", "second")
	if later := s.made(worktree.Wish{Base: first}); s.git(later.Folder, "rev-parse", "HEAD") != first || later.Branch != "harness/"+later.ID {
		t.Errorf("%+v", later)
	}
	if within := s.made(worktree.Wish{Folder: one.Cwd(), Within: s.base}).Repository.Head; within != first {
		t.Errorf("a worktree of a worktree begins at %s", within)
	}
	s.git(s.repo, "fsck", "--strict")
}

// WT-34: a folder that cannot have a worktree is refused with the reason, and nothing is left.
func TestRefusedWorktreesLeaveNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("none/a", "a")
	s.run(s.base, "git", "init", "-q", "empty")
	s.run(s.base, "git", "init", "-q", "data/own")
	s.git(filepath.Join(s.base, "data", "own"), "commit", "-q", "--allow-empty", "-m", "x")
	s.put("led/.git", "gitdir: "+filepath.Join(s.base, "data", "own", ".git")+"\n")
	s.run(s.base, "git", "clone", "-q", "--shared", "--no-checkout", "repo", "shared")
	s.run(s.base, "git", "init", "-q", "linked")
	s.git(filepath.Join(s.base, "linked"), "commit", "-q", "--allow-empty", "-m", "x")
	s.do(os.Symlink(s.base, filepath.Join(s.base, "linked", ".git", "worktrees")))
	s.forgetMarks()
	before := s.git(s.repo, "for-each-ref")
	for reason, wish := range map[string]worktree.Wish{
		"no git repository":                 {Folder: filepath.Join(s.base, "none")},
		"no commit, shares":                 {Folder: filepath.Join(s.base, "empty")},
		"shares objects":                    {Folder: filepath.Join(s.base, "shared")},
		"the server's own":                  {Folder: filepath.Join(s.base, "led")},
		"worktrees of the repository is no": {Folder: filepath.Join(s.base, "linked")},
		"has a branch main already":         {Folder: s.repo, Branch: "main"},
		"no branch can have the name":       {Folder: s.repo, Branch: "-d"},
		"has no commit none":                {Folder: s.repo, Base: "none"},
		"has no commit --all":               {Folder: s.repo, Base: "--all"},
		"not in the folder of the project":  {Folder: filepath.Join(s.repo, "sub"), Within: filepath.Join(s.repo, "sub")},
	} {
		_, err := s.Make(t.Context(), wish)
		s.requireRefused(err, reason)
	}
	s.requireNothing()
	if after := s.git(s.repo, "for-each-ref"); after != before {
		t.Errorf("the repository has %s, had %s", after, before)
	}
	s.requireNothingRan()
}

// requireNothing fails if the service, its folder or the repository has a worktree.
func (s *site) requireNothing() {
	s.t.Helper()
	for _, pattern := range []string{"data/worktrees/*", "worktrees/*/*", "repo/.git/worktrees/*", "repo/.git/refs/heads/harness/*"} {
		if left, err := filepath.Glob(filepath.Join(s.base, pattern)); err != nil || len(left) > 0 {
			s.t.Errorf("%s: %v, %v", pattern, left, err)
		}
	}
}

// WT-35: a removed worktree loses nothing: files that are not committed keep it, the branch stays, the folder is in the trash.
func TestRemovalLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.made(worktree.Wish{})
	at := func(name string) string { return filepath.Join(one.Folder, name) }
	remove := func(force bool, reason string) {
		t.Helper()
		_, err := s.Remove(t.Context(), one.ID, force)
		s.requireRefused(err, reason)
	}
	s.do(os.WriteFile(at("new.txt"), []byte("x"), 0o644))
	s.do(os.Remove(at("a.txt")))
	remove(false, "2 files are not committed (a.txt, new.txt)")
	s.requireNothingRan()
	s.git(one.Folder, "add", "-A")
	s.git(one.Folder, "commit", "-qm", "work")
	s.git(one.Folder, "checkout", "-q", "--detach")
	remove(true, "on no branch")
	s.git(one.Folder, "checkout", "-q", one.Branch)
	s.do(os.WriteFile(filepath.Join(one.Repository.AdminOf(one.ID), "MERGE_HEAD"), nil, 0o644))
	remove(true, "MERGE_HEAD")
	s.do(os.Remove(filepath.Join(one.Repository.AdminOf(one.ID), "MERGE_HEAD")))
	works := exec.CommandContext(t.Context(), "cat")
	works.Dir = at("sub")
	in, err := works.StdinPipe()
	s.do(err)
	s.do(works.Start())
	remove(true, "works in the worktree")
	s.do(in.Close())
	s.do(works.Wait())
	s.do(os.WriteFile(at("ignored"), []byte("secret"), 0o644))
	s.forgetMarks()
	listed, err := s.List(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Kept != "" || listed[0].State != worktree.Ready {
		t.Fatalf("%+v, %v", listed, err)
	}
	trash, err := s.Remove(t.Context(), one.ID, false)
	s.do(err)
	s.requireNothingRan()
	if content, err := os.ReadFile(filepath.Join(trash, "ignored")); err != nil || string(content) != "secret" {
		t.Errorf("in the trash: %q, %v", content, err)
	}
	if got := s.git(s.repo, "show", one.Branch+":new.txt"); got != "x" {
		t.Errorf("the branch has %q", got)
	}
	s.git(s.repo, "checkout", "-q", one.Branch) // no worktree has it
	s.clock = s.clock.Add(6 * 24 * time.Hour)
	s.restart()
	s.Settle()
	if _, err := os.Stat(trash); err != nil {
		t.Error(err)
	}
	s.clock = s.clock.Add(25 * time.Hour)
	s.restart()
	s.Settle()
	if _, err := os.Stat(trash); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after a week: %v", err)
	}
	if _, err := s.Remove(t.Context(), one.ID, true); !errors.Is(err, worktree.ErrNotFound) {
		t.Errorf("after a week: %v", err)
	}
	dirty := s.made(worktree.Wish{})
	s.do(os.WriteFile(filepath.Join(dirty.Folder, "a.txt"), []byte("kept\n"), 0o644))
	trash, err = s.Remove(t.Context(), dirty.ID, true)
	s.do(err)
	if content, err := os.ReadFile(filepath.Join(trash, "a.txt")); err != nil || string(content) != "kept\n" {
		t.Errorf("in the trash: %q, %v", content, err)
	}
}

func (s *site) restart() {
	s.t.Helper()
	s.do(s.Stop(s.t.Context()))
	s.start()
}

// errKilled ends a service in the middle of a step.
var errKilled = errors.New("killed")

// killedAt runs work that ends before a step, as by kill -9; false if the step was not reached.
func (s *site) killedAt(step string, work func()) (killed bool) {
	defer func() {
		if cause := recover(); cause != nil && cause != any(errKilled) {
			panic(cause)
		} else if cause != nil {
			killed = true
		}
		s.step = nil
	}()
	s.step = func(name string) {
		if name == step {
			panic(errKilled)
		}
	}
	work()
	return false
}

// WT-36: after a kill before any step, the next start leaves a whole worktree or none, and loses no work.
func TestKilledWorktreesAreFinished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, step := range []string{"record", "link", "fill", "made"} {
		if !s.killedAt(step, func() { _, _ = s.Make(t.Context(), worktree.Wish{Folder: s.repo}) }) {
			t.Fatalf("the step %q was not reached", step)
		}
		s.restart()
		s.requireNothing()
	}
	for _, step := range []string{"discard folder", "discard branch", "discard link", "discard record"} {
		one, err := s.Make(t.Context(), worktree.Wish{Folder: s.repo})
		s.do(err)
		if !s.killedAt(step, func() { _ = s.Discard(t.Context(), one) }) {
			t.Fatalf("the step %q was not reached", step)
		}
		s.restart()
		s.requireNothing()
	}
	for _, step := range []string{"trash record", "trash folder", "trash link"} {
		one := s.made(worktree.Wish{})
		s.do(os.WriteFile(filepath.Join(one.Folder, "a.txt"), []byte("work\n"), 0o644))
		if !s.killedAt(step, func() { _, _ = s.Remove(t.Context(), one.ID, true) }) {
			t.Fatalf("the step %q was not reached", step)
		}
		s.restart()
		trash, err := s.Remove(t.Context(), one.ID, true)
		s.do(err)
		if content, err := os.ReadFile(filepath.Join(trash, "a.txt")); err != nil || string(content) != "work\n" {
			t.Errorf("killed before %q: %q, %v", step, content, err)
		}
		if _, err := os.Stat(one.Repository.AdminOf(one.ID)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("killed before %q, the repository has the worktree: %v", step, err)
		}
		s.git(s.repo, "rev-parse", one.Branch)
	}
	s.requireNothingRan()
}
