package gitworkspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// object stores an object unchanged, even if git considers it invalid, and returns its id.
func (s *site) object(kind, content string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "git", "-C", s.folder, "hash-object", "-t", kind, "-w", "--stdin", "--literally")
	command.Stdin = strings.NewReader(content)
	said, err := command.Output()
	s.do(err)
	return strings.TrimSpace(string(said))
}

// entry returns an entry of a tree.
func entry(mode, name, id string) string {
	raw := make([]byte, 0, 20)
	for i := 0; i < len(id); i += 2 {
		raw = append(raw, hexDigit(id[i])<<4|hexDigit(id[i+1]))
	}
	return mode + " " + name + "\x00" + string(raw)
}

func hexDigit(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }

const (
	byA  = "A <a@example.org> 1700000000 +0000"
	good = "author " + byA + "\ncommitter " + byA + "\n"
)

// commit stores a commit of a tree; by holds its author and committer lines.
func (s *site) commit(tree, by string) string {
	return s.object("commit", "tree "+tree+"\n"+by+"\nmessage\n")
}

// attacks are histories that git's own servers refuse, by git's name of the fault.
var attacks = map[string]func(s *site) string{
	"hasDotgit":    func(s *site) string { return s.treeOf("40000", ".git") },
	"hasDotdot":    func(s *site) string { return s.treeOf("40000", "..") },
	"hasDot":       func(s *site) string { return s.treeOf("40000", ".") },
	"fullPathname": func(s *site) string { return s.treeOf("100644", "a/../../b") },
	"gitmodulesSymlink": func(s *site) string {
		return s.commit(s.object("tree", entry("120000", ".gitmodules", s.object("blob", "elsewhere"))), good)
	},
	"gitmodulesUrl": func(s *site) string {
		url := s.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch${IFS}/tmp/x\n")
		return s.commit(s.object("tree", entry("100644", ".gitmodules", url)), good)
	},
	"nulInCommit": func(s *site) string { return s.commit(s.object("tree", ""), good+"\nbefore\x00after") },
}

// treeOf returns a commit whose tree has one entry with such a name.
func (s *site) treeOf(mode, name string) string {
	inner := s.object("blob", "content")
	if mode == "40000" {
		inner = s.object("tree", entry("100644", "config", inner))
	}
	return s.commit(s.object("tree", entry(mode, name, inner)), good)
}

// A history that git considers an attack is stored nowhere, and the refusal names the fault and the remedy.
func TestAHistoryThatAttacksGitIsRefused(t *testing.T) {
	t.Parallel()
	for cause, make := range attacks {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			one := s.node()
			s.git("init", "--quiet", "-b", "main")
			s.git("commit", "--quiet", "--allow-empty", "-m", "first")
			s.store(one, "session/0") // the attack is in a bundle that builds on another one
			s.git("update-ref", "refs/heads/evil", make(s))
			_, refusal, err := one.Store(t.Context(), "session/0", s.folder)
			if err != nil || !strings.Contains(refusal, cause) || !strings.Contains(refusal, "git fsck") {
				t.Errorf("refused as %q, %v", refusal, err)
			}
			if left, err := filepath.Glob(filepath.Join(one.repository(), "objects", "pack", "tmp_*")); err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			s.git("update-ref", "-d", "refs/heads/evil")
			s.lose(s.node(), "session/0", s.store(one, "session/0"))
		})
	}
}

// Objects that another writer pushed to the remote are also checked, before a workspace is made of them.
func TestAnAttackInTheRemoteIsNotRestored(t *testing.T) {
	t.Parallel()
	for cause, make := range attacks {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			one := s.node()
			s.git("init", "--quiet", "-b", "main")
			files := s.object("tree", "")
			snapshot := s.commit(s.object("tree", entry("40000", "files", files)), "parent "+make(s)+"\n"+good)
			s.git("push", "--quiet", s.remote, snapshot+":refs/harness/session/0")
			folder := filepath.Join(t.TempDir(), "restored")
			_, err := one.Restore(t.Context(), "session/0", snapshot, folder)
			if err == nil || !strings.Contains(err.Error(), cause) || !strings.Contains(err.Error(), "refs/harness/session/0") {
				t.Errorf("restored with %v", err)
			}
			if _, err := os.Lstat(folder); err == nil {
				t.Error("the folder is there")
			}
		})
	}
}

// Old programs wrote histories that git would not write today. They are harmless, and are kept unchanged.
func TestOldHistoryIsAccepted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one, two := s.node(), s.node()
	s.git("init", "--quiet", "-b", "main")
	empty := s.object("tree", "")
	for name, commit := range map[string]string{
		"padded":   s.commit(s.object("tree", entry("040000", "sub", s.object("tree", entry("100664", "a", s.object("blob", "a"))))), good),
		"zone":     s.commit(empty, "author A <a@example.org> 1700000000 +051800\ncommitter "+byA+"\n"),
		"space":    s.commit(empty, "author A<a@example.org> 1700000000 +0000\ncommitter "+byA+"\n"),
		"noauthor": s.commit(empty, "author <a@example.org> 1700000000 +0000\ncommitter "+byA+"\n"),
		"date":     s.commit(empty, "author A <a@example.org> 01700000000 +0000\ncommitter "+byA+"\n"),
		"email":    s.commit(empty, "author A <a> b> 1700000000 +0000\ncommitter "+byA+"\n"),
		"two":      s.commit(empty, "author "+byA+"\n"+good),
	} {
		s.git("update-ref", "refs/heads/"+name, commit)
		s.git("update-ref", "refs/tags/"+name, s.object("tag", "object "+commit+"\ntype commit\ntag "+name+"\n\nno tagger\n"))
	}
	refs := s.git("show-ref")
	s.lose(two, "session/0", s.store(one, "session/0"))
	if got := s.git("show-ref"); got != refs {
		t.Errorf("restored are\n%s\nwant\n%s", got, refs)
	}
}
