package gitworkspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/tests/agenttest"
	"harness/tests/polling"
)

// The content of a folder and of its repository is restored at another node, byte for byte, except files that git
// ignores.
func TestWorkspaceIsRestored(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := s.node(), s.node()
	s.git("init", "--quiet", "-b", "main")
	s.git("remote", "add", "origin", "https://user:secret@example.org/a.git")
	s.git("config", "user.email", "agent@example.org")
	s.git("config", "filter.evil.clean", "touch "+filepath.Join(filepath.Dir(s.folder), "escaped"))
	s.write(".gitignore", "ignored\n")
	s.write("a", "one\r\ntwo\r\n")
	s.write(".gitattributes", "a text eol=lf filter=evil\n")
	s.git("add", ".")
	s.git("commit", "--quiet", "-m", "first")
	s.git("tag", "-a", "v1", "-m", strings.Repeat("a long tag\n", 50))
	s.git("tag", "-a", "v2", "v1", "-m", "a tag of a tag")
	s.git("branch", "other")
	s.git("update-ref", "refs/remotes/origin/main", "HEAD")
	s.write("a", "one\r\nthree\r\n")
	s.write("staged", "staged\n")
	s.git("add", "staged")
	s.write("staged", "changed since\n")
	s.write("new name\n\t\"é", "untracked\n")
	s.write("ignored/x", "x")
	s.write(".harness-workspace/id", "mark")
	s.write(".harness-workspace/.gitignore", "*")
	s.do(os.Symlink("/etc/passwd", filepath.Join(s.folder, "link")))
	s.do(os.Chmod(filepath.Join(s.folder, "staged"), 0o755)) //nolint:gosec // a program
	status, refs, staged := s.git("status", "--porcelain=v2", "--branch"), s.git("show-ref", "--head", "--dereference"), s.git("diff", "--cached")

	snapshot := s.store(one, "session/0")
	s.lose(two, "session/0", snapshot)

	if _, err := os.Lstat(filepath.Join(filepath.Dir(s.folder), "escaped")); err == nil {
		t.Error("the folder's configuration ran a program")
	}
	for name, want := range map[string]string{"a": "one\r\nthree\r\n", "staged": "changed since\n", "new name\n\t\"é": "untracked\n"} {
		if got := s.read(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for name, why := range map[string]string{"ignored": "git ignores it", ".harness-workspace": "it is the mark of the node"} {
		if _, err := os.Lstat(filepath.Join(s.folder, name)); err == nil {
			t.Errorf("%s is there, though %s", name, why)
		}
	}
	if to, err := os.Readlink(filepath.Join(s.folder, "link")); err != nil || to != "/etc/passwd" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(s.folder, "staged")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the program is none: %v, %v", info, err)
	}
	for what, pair := range map[string][2]string{"status": {s.git("status", "--porcelain=v2", "--branch"), status},
		"references": {s.git("show-ref", "--head", "--dereference"), refs}, "staged": {s.git("diff", "--cached"), staged}} {
		// A filter in the folder's configuration is not copied.
		if pair[0] != pair[1] {
			t.Errorf("%s is\n%s\nwant\n%s", what, pair[0], pair[1])
		}
	}
	if got := s.git("config", "remote.origin.url"); got != "https://example.org/a.git\n" {
		t.Errorf("the remote is %q", got)
	}
	if got := s.git("config", "--local", "user.email"); got != "agent@example.org\n" {
		t.Errorf("who commits is %q", got)
	}
	s.git("fsck", "--strict")
	if got := s.git("for-each-ref", "refs/harness*"); got != "" {
		t.Errorf("references of the copy are left: %s", got)
	}
	if all := s.command("git", "--git-dir", s.remote, "for-each-ref", "--format=%(refname)"); all != "refs/harness/session/0\n" {
		t.Errorf("the remote has %q", all)
	}
	if found := s.command("git", "--git-dir", s.remote, "cat-file", "-p", "refs/harness/session/0:repository.json"); strings.Contains(found, "secret") {
		t.Error("a password was pushed")
	}
	entries, err := os.ReadDir(filepath.Dir(s.folder))
	if s.do(err); len(entries) != 1 {
		t.Errorf("beside the folder are %v", entries)
	}
}

// A folder is stored repeatedly, also after its history was rewritten; objects that the remote has are not sent again.
func TestWorkspaceIsStoredAsItChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := s.node(), s.node()
	first := s.store(one, "session/0") // an empty folder
	if again := s.store(one, "session/0"); again != first {
		t.Errorf("the same folder is %s and %s", first, again)
	}
	s.write("big", strings.Repeat("x", 1<<20))
	s.write("small", "1")
	second := s.store(one, "session/0")
	s.lose(two, "session/0", second)
	if _, err := os.Lstat(filepath.Join(s.folder, ".git")); err == nil {
		t.Error("a folder that was no repository is one")
	}
	s.git("init", "--quiet", "-b", "main")
	s.git("add", ".")
	s.git("commit", "--quiet", "-m", "first")
	s.lose(one, "session/1", s.store(two, "session/1"))
	s.git("commit", "--quiet", "--amend", "-m", "anew")
	s.git("reflog", "expire", "--expire=now", "--all")
	s.git("gc", "--quiet", "--prune=now")
	s.write("small", "2")
	last := s.store(one, "session/1")
	s.lose(two, "session/1", last)
	if got := s.git("log", "--format=%s"); got != "anew\n" || s.read("small") != "2" {
		t.Errorf("restored are %q and %q", got, s.read("small"))
	}
	s.git("checkout", "--quiet", "--detach")
	s.lose(two, "session/1", s.store(two, "session/1"))
	if got := s.git("rev-parse", "--abbrev-ref", "HEAD"); got != "HEAD\n" {
		t.Errorf("HEAD is %q", got)
	}
	// A remote that lost the snapshot gets it again.
	s.do(os.RemoveAll(s.remote))
	if _, _, err := one.Store(t.Context(), "session/2", s.folder); err == nil {
		t.Error("stored at a remote that is not there")
	}
	s.command("git", "init", "--quiet", "--bare", s.remote)
	s.lose(two, "session/2", s.store(one, "session/2"))
}

// An existing folder at the destination is moved aside, and not lost; an empty folder is no obstacle.
func TestExistingWorkspaceIsPutAside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.node()
	s.write("a", "stored")
	snapshot := s.store(one, "session/0")
	s.write("a", "later")
	aside, err := one.Restore(t.Context(), "session/0", snapshot, s.folder)
	s.do(err)
	kept, err := os.ReadFile(filepath.Join(aside, "a"))
	if err != nil || string(kept) != "later" || s.read("a") != "stored" {
		t.Errorf("aside in %q is %q, %v; the folder has %q", aside, kept, err, s.read("a"))
	}
	s.do(os.RemoveAll(s.folder))
	s.do(os.Mkdir(s.folder, 0o755))
	if aside, err := one.Restore(t.Context(), "session/0", snapshot, s.folder); aside != "" || err != nil || s.read("a") != "stored" {
		t.Errorf("aside is %q, %v", aside, err)
	}
	if _, err := one.Restore(t.Context(), "session/0", strings.Repeat("0", 40), s.folder); err == nil {
		t.Error("another snapshot than that of the remote was restored")
	}
}

// A folder that cannot be stored completely is refused, with a remedy.
func TestIncompleteWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(s *site)
		want    string
	}{
		"is gone":                {func(s *site) { s.do(os.RemoveAll(s.folder)) }, "is not a folder"},
		"another repository":     {func(s *site) { s.command("git", "init", "-q", s.folder+"/in"); s.write("in/x", ""); s.inner("in") }, "contains another repository (in)"},
		"a part of one":          {func(s *site) { s.git("init", "-q"); s.do(os.Mkdir(s.folder+"/sub", 0o755)); s.folder += "/sub" }, "of the repository"},
		"a work tree":            {func(s *site) { s.write(".git", "gitdir: /elsewhere\n") }, ".git points out of it"},
		"a link to a repository": {func(s *site) { s.do(os.Symlink(s.remote, s.folder+"/.git")) }, ".git points out of it"},
		"shallow":                {func(s *site) { s.git("init", "-q"); s.write(".git/shallow", "") }, "--unshallow"},
		"alternates":             {func(s *site) { s.git("init", "-q"); s.write(".git/objects/info/alternates", s.remote) }, "repack -a -d"},
		"SHA-256": {func(s *site) {
			s.git("init", "-q", "--object-format=sha256")
			s.write("x", "")
			s.git("add", ".")
			s.git("commit", "-qm", "x")
		}, "SHA-256"},
		"damaged": {func(s *site) { s.git("init", "-q"); s.write(".git/refs/heads/x", strings.Repeat("1", 40)) }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			test.prepare(s)
			_, refusal, err := s.node().Store(t.Context(), "session/0", s.folder)
			if err != nil || !strings.Contains(refusal, test.want) {
				t.Errorf("refused as %q, %v", refusal, err)
			}
			if all := s.command("git", "--git-dir", s.remote, "for-each-ref"); all != "" {
				t.Errorf("the remote has %q", all)
			}
		})
	}
}

// An empty .git, which the sandbox of a killed agent leaves behind, does not make a folder a repository or a parent of
// one.
func TestAnEmptyGitIsNoRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := s.node(), s.node()
	s.do(os.Mkdir(filepath.Join(filepath.Dir(s.folder), ".git"), 0o755))
	s.do(os.Mkdir(filepath.Join(s.folder, ".git"), 0o755))
	s.write("a", "content")
	s.lose(two, "session/0", s.store(one, "session/0"))
	if got := s.read("a"); got != "content" {
		t.Errorf("the file is %q", got)
	}
}

// inner makes a commit in a repository within the folder.
func (s *site) inner(name string) {
	s.git("-C", name, "add", ".")
	s.git("-C", name, "commit", "-qm", "x")
}

// Commands that a folder's git runs are confined: they see no file of this machine and no network, and change nothing.
func TestWorkspaceGitIsConfined(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.node()
	s.git("init", "--quiet", "-b", "main")
	// Everything that a folder can make git start is started like this.
	secret := filepath.Join(t.TempDir(), "secret")
	s.do(os.WriteFile(secret, []byte("the secret"), 0o644)) //nolint:gosec // readable for every user that can reach it
	script := filepath.Join(s.folder, "attack")
	s.write("attack", "#!/bin/sh\ncat "+secret+" "+one.repository()+"/config >/scratch/found 2>&1\nls / >>/scratch/found\ntouch /workspace/changed\n")
	s.do(os.Chmod(script, 0o755)) //nolint:gosec // a program
	git := one.within(s.place(one), s.folder, false)
	if err := git.run(t.Context(), nil, nil, "sh", "-c", "/workspace/attack; cat /scratch/found >&2; test ! -e /workspace/changed"); err != nil {
		t.Errorf("the folder was changed: %v", err)
	}
	found, err := os.ReadFile(filepath.Join(s.place(one), "found"))
	s.do(err)
	if strings.Contains(string(found), "the secret") || strings.Contains(string(found), s.remote) {
		t.Errorf("found was %s", found)
	}
	if seen := strings.Fields(string(found)); slices.Contains(seen, "home") || slices.Contains(seen, "root") || slices.Contains(seen, "work") {
		t.Errorf("seen were %v", seen)
	}
}

func (s *site) place(one *Store) string {
	s.t.Helper()
	place, err := one.newScratch("attack")
	s.do(err)
	return place
}

// If agents have a separate user, folders are read and made as that user.
func TestFoldersOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root can act as another user: this is tried where root runs the tests")
		return
	}
	const otherUID = 65534
	s := newSite(t)
	open, err := os.MkdirTemp("", "harness-test-") //nolint:usetesting // t.TempDir is in a folder of this user's alone
	s.do(err)
	t.Cleanup(func() { s.do(os.RemoveAll(open)) })
	s.folder = filepath.Join(open, "folder")
	s.do(errors.Join(os.Chmod(open, 0o711), os.Mkdir(s.folder, 0o700), os.Chown(s.folder, otherUID, otherUID))) //nolint:gosec // as homes are
	one := New(Options{Dir: t.TempDir(), Remote: s.remote, Bubblewrap: s.bubblewrapForAll(open), User: &User{UID: otherUID, GID: otherUID}})
	s.do(one.Start(t.Context()))
	t.Cleanup(func() { s.do(one.Stop(t.Context())) })
	s.write("a", "theirs")
	s.write("root", "not theirs")
	s.do(errors.Join(os.Chown(filepath.Join(s.folder, "a"), otherUID, otherUID), os.Chmod(filepath.Join(s.folder, "root"), 0o600)))
	if _, refusal, err := one.Store(t.Context(), "s/0", s.folder); err != nil || !strings.Contains(refusal, "cannot be read") {
		t.Errorf("a file of the server's was read: %q, %v", refusal, err)
	}
	s.do(os.Remove(filepath.Join(s.folder, "root")))
	snapshot := s.store(one, "s/0")
	s.do(os.RemoveAll(s.folder))
	_, err = one.Restore(t.Context(), "s/0", snapshot, s.folder)
	s.do(err)
	for _, name := range []string{"", "a"} {
		info, err := os.Lstat(filepath.Join(s.folder, name))
		s.do(err)
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != otherUID {
			t.Errorf("%q belongs to %d", name, owner)
		}
	}
}

// bubblewrapForAll returns a bubblewrap that every user may run, in a folder.
func (s *site) bubblewrapForAll(folder string) string {
	s.t.Helper()
	program, err := os.ReadFile(agenttest.Bubblewrap(s.t))
	s.do(err)
	path := filepath.Join(folder, "bwrap")
	s.do(os.WriteFile(path, program, 0o755)) //nolint:gosec // a program
	return path
}

// Unused snapshots are removed, here and at the remote, but no others.
func TestSnapshotsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.node()
	s.write("a", "1")
	for _, name := range []string{"s/0", "s/1", "s1/0"} {
		s.store(one, name)
	}
	s.command("git", "--git-dir", s.remote, "update-ref", "refs/heads/main", "refs/harness/s/0")
	for range 2 {
		s.do(one.Forget(t.Context(), "s/"))
	}
	if all := s.command("git", "--git-dir", s.remote, "for-each-ref", "--format=%(refname)"); all != "refs/harness/s1/0\nrefs/heads/main\n" {
		t.Errorf("the remote has %q", all)
	}
	for _, prefix := range []string{"", "/", "s", "../", "s/../", "a b/"} {
		if err := one.Forget(t.Context(), prefix); err == nil {
			t.Errorf("%q was forgotten", prefix)
		}
	}
	// A snapshot stored after that exists.
	s.store(one, "s/0")
	s.command("git", "--git-dir", s.remote, "rev-parse", "--verify", "refs/harness/s/0")
}

// When a server ends, the running operation is interrupted and leaves nothing behind; no operation starts afterwards.
func TestTheStoreStops(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.write("a", "1")
	one := s.node()
	s.store(one, "s/0")
	// A remote that never answers.
	s.do(os.WriteFile(filepath.Join(s.remote, "hooks", "pre-receive"), []byte("#!/bin/sh\necho began >\""+s.remote+"/began\"\nexec sleep 600\n"), 0o755)) //nolint:gosec // a program
	s.write("a", "2")
	stored := make(chan error, 1)
	go func() {
		_, _, err := one.Store(t.Context(), "s/0", s.folder)
		stored <- err
	}()
	if !polling.Until(time.Minute, func() bool { _, err := os.Stat(filepath.Join(s.remote, "began")); return err == nil }) {
		t.Fatal("nothing was pushed")
	}
	var stops sync.WaitGroup
	for range 4 {
		stops.Go(func() {
			if err := one.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	stops.Wait()
	if err := <-stored; err == nil {
		t.Error("it was stored all the same")
	}
	if _, _, err := one.Store(t.Context(), "s/0", s.folder); err == nil {
		t.Error("something was stored after the end")
	}
	if left, err := filepath.Glob(filepath.Join(one.opts.Dir, "*")); err != nil || len(left) != 2 {
		t.Errorf("left are %v, %v", left, err)
	}
}
