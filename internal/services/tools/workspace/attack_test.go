package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"harness/internal/services/tools/workspace"
)

// outward returns a patch that creates a file.
func outward(name string) string {
	if !filepath.IsAbs(name) {
		name = "b/" + name
	}
	return "--- /dev/null\n+++ " + name + "\n@@ -0,0 +1 @@\n+owned\n"
}

// TL-13, TL-14, TL-24: no spelling of a path and no link leads out of the workspace, in any tool.
func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ways := s.ways()
	s.link("/", "slash")
	for _, name := range append(ways, "//", "", "slash"+s.outside, "/proc/self/environ", "/dev/zero") {
		for tool, input := range map[string]object{
			"workspace.read": {"path": name}, "workspace.write": {"path": name, "content": "owned"},
			"workspace.list": {"path": name, "recursive": true}, "patch.apply": {"patch": outward(name)},
		} {
			if name == "" && tool != "workspace.read" && tool != "workspace.write" {
				continue // the workspace itself, and not a patch
			}
			if out, err := s.call(tool, input); err == nil {
				t.Errorf("%s of %q answered %v", tool, name, out)
			} else if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), filepath.Dir(s.outside)) &&
				name != s.outside && !strings.Contains(name, s.outside) {
				t.Errorf("%s of %q says %v", tool, name, err)
			}
		}
	}
	listed := fmt.Sprint(s.must("workspace.list", object{"recursive": true}))
	if strings.Contains(listed, "secret.txt") || !strings.Contains(listed, "inside/a.txt") {
		t.Errorf("listed are %s", listed)
	}
	s.untouched()
}

// TL-14: patches that rename, delete, link or copy outside files, or write the files that git runs, change nothing.
func TestNoPatchLeadsOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("a.txt", "a\n")
	s.put(".git/config", "[core]\n")
	s.link("../secret.txt", "upward")
	s.link("..", "parent")
	for name, patch := range map[string]string{
		"rename out":   "diff --git a/a.txt b/../b.txt\nsimilarity index 100%\nrename from a.txt\nrename to ../b.txt\n",
		"rename in":    "diff --git a/../secret.txt b/b.txt\nsimilarity index 100%\nrename from ../secret.txt\nrename to b.txt\n",
		"delete":       "--- a/../secret.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-" + secret + "\n\\ No newline at end of file\n",
		"by a link":    "--- a/upward\n+++ b/upward\n@@ -1 +1 @@\n-" + secret + "\n\\ No newline at end of file\n+owned\n",
		"below a link": outward("parent/b.txt"),
		"a link": "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 " +
			"@@\n+../secret.txt\n\\ No newline at end of file\n",
		"a module":      "diff --git a/m b/m\nnew file mode 160000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+Subproject commit 0\n",
		"a hook":        outward(".git/hooks/pre-commit"),
		"in capitals":   outward("sub/.GIT/config"),
		"its config":    "--- a/.git/config\n+++ b/.git/config\n@@ -1 +1,2 @@\n [core]\n+\tfsmonitor = owned\n",
		"half of it":    "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n" + outward("../b.txt"),
		"no patch":      "hello",
		"a broken one":  "--- a/a.txt\n+++ b/a.txt\n@@ -1,7 +1 @@\n-a\n",
		"another file":  "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-z\n+b\n",
		"twice":         "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+c\n",
		"over another":  "diff --git a/a.txt b/upward\nsimilarity index 100%\nrename from a.txt\nrename to upward\n",
		"missing file":  "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
		"into a folder": outward("a.txt/b"),
	} {
		if out, err := s.call("patch.apply", object{"patch": patch}); err == nil {
			t.Errorf("%s answered %v", name, out)
		}
	}
	if s.content("a.txt") != "a\n" || s.content(".git/config") != "[core]\n" {
		t.Error("a refused patch changed the workspace")
	}
	if _, err := s.call("workspace.write", object{"path": ".git/hooks/post-checkout", "content": "owned"}); err == nil {
		t.Error("a hook was written")
	}
	left, err := os.ReadDir(s.folder)
	if err != nil || len(left) != 4 {
		t.Errorf("the workspace has %v (%v)", left, err)
	}
	s.untouched()
}

// No tool changes files that people's programs execute, whatever link, folder or other kind of name leads there. No
// tool turns a folder into a git directory.
func TestNoToolChangesVersionControl(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{".git/config", ".git/hooks/keep", ".git/modules/m/config", ".hg/hgrc", ".svn/wc.db", ".envrc",
		"sub/.git/config", "apart/HEAD", "apart/objects/x", "apart/refs/x", "apart/config", "half/objects/x", "half/refs/x",
		"a.txt"} {
		s.put(name, "kept\n")
	}
	s.put("tree/.git", "gitdir: ../apart\n")
	s.link(".git", "g")
	s.link(".git/hooks", "hk")
	s.link("g", "gg")
	s.link("sub/.git", "s")
	s.link(".hg", "h")
	s.link("apart", "p")
	s.link(".", "here")
	for _, name := range []string{
		"g/config", "g/hooks/post-checkout", "hk/pre-commit", "hk/deep/x", "gg/config", "s/config", "h/hgrc", "here/.git/config",
		".hg/hgrc", ".HG/hgrc", ".svn/wc.db", ".jj/repo/config.toml", ".sl/config", ".envrc", "sub/.envrc", "sub/.git/config",
		"tree/.git", "apart/config", "apart/hooks/post-checkout", "p/config", "apart/modules/m/config", "half/HEAD", "g/modules/m/config",
		"a.txt/../.git/config",
	} {
		if out, err := s.call("workspace.write", object{"path": name, "content": "owned"}); err == nil {
			t.Errorf("wrote %s: %v", name, out)
		}
		if out, err := s.call("patch.apply", object{"patch": outward(name)}); err == nil {
			t.Errorf("patched %s: %v", name, out)
		}
	}
	for name, patch := range map[string]string{
		"change by a link": "--- a/g/config\n+++ b/g/config\n@@ -1 +1 @@\n-kept\n+owned\n",
		"delete by a link": "--- a/g/config\n+++ /dev/null\n@@ -1 +0,0 @@\n-kept\n",
		"rename in":        "diff --git a/a.txt b/hk/pre-commit\nsimilarity index 100%\nrename from a.txt\nrename to hk/pre-commit\n",
		"rename out":       "diff --git a/g/config b/c\nsimilarity index 100%\nrename from g/config\nrename to c\n",
		"a bare repository": outward("bare/config") + outward("bare/HEAD") + outward("bare/objects/x") +
			outward("bare/refs/x"),
	} {
		if out, err := s.call("patch.apply", object{"patch": patch}); err == nil {
			t.Errorf("%s answered %v", name, out)
		}
	}
	for _, name := range []string{".git/config", ".hg/hgrc", ".svn/wc.db", ".envrc", "apart/config", "sub/.git/config", "a.txt"} {
		if s.content(name) != "kept\n" {
			t.Errorf("%s was changed", name)
		}
	}
	for _, name := range []string{".git/hooks/pre-commit", "half/HEAD", ".git/hooks/deep"} {
		if _, err := os.Lstat(filepath.Join(s.folder, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	for _, name := range []string{".gitignore", ".github/workflows/ci.yml", "here/b.txt", "half/objects/y", "HEAD", "refs/notes"} {
		s.must("workspace.write", object{"path": name, "content": "x"})
	}
	s.untouched()
}

// TL-13, TL-14: a folder that is swapped for a link to the outside and back during calls leads nowhere: every call
// stays in the workspace.
func TestLinksSwappedDuringTheCall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("swap/secret.txt", "inside")
	s.put("folder/secret.txt", "inside")
	at := func(name string) string { return filepath.Join(s.folder, name) }
	s.link("..", "away") // the attacker keeps the other link here
	stop, swapped := make(chan struct{}), make(chan int)
	go func() {
		times := 0
		defer func() { swapped <- times }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Exchanged atomically: the name always leads somewhere, to the folder or out.
			if err := exchange(at("swap"), at("away")); err != nil {
				t.Errorf("swap: %v", err)
				return
			}
			times++
		}
	}()
	met := 0
	for range 2000 {
		if out, err := s.call("workspace.read", object{"path": "swap/secret.txt"}); err == nil {
			if met++; out["content"] == secret {
				t.Fatal("a read left the workspace")
			}
		}
		_, _ = s.call("workspace.write", object{"path": "swap/secret.txt", "content": "inside"})
		_, _ = s.call("patch.apply", object{"patch": "--- a/swap/secret.txt\n+++ b/swap/secret.txt\n@@ -1 +1 @@\n-" + secret +
			"\n\\ No newline at end of file\n+owned\n"})
	}
	close(stop)
	if times := <-swapped; met == 0 || times == 0 {
		t.Errorf("%d reads met the folder and %d swaps happened: the race was not run", met, times)
	}
	s.untouched()
}

// Devices, pipes and sockets are not read or written, and do not block a tool.
func TestDevicesAreNoFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := syscall.Mkfifo(filepath.Join(s.folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.put("folder/a", "")
	names := []string{"pipe", "folder"}
	if syscall.Mknod(filepath.Join(s.folder, "zero"), syscall.S_IFCHR|0o666, 1<<8|5) == nil { // this needs root
		names = append(names, "zero")
	}
	for _, name := range names {
		for tool, input := range map[string]object{
			"workspace.read": {"path": name}, "workspace.write": {"path": name, "content": "owned"},
			"patch.apply": {"patch": "--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-a\n+b\n"},
		} {
			if out, err := s.call(tool, input); err == nil {
				t.Errorf("%s of %s answered %v", tool, name, out)
			}
		}
	}
}

// A write by a second name (hard link) of an outside file changes the workspace, and not the file.
func TestASecondNameIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"a", "b"} {
		if err := os.Link(s.outside, filepath.Join(s.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.must("workspace.write", object{"path": "a", "content": "owned"})
	s.must("patch.apply",
		object{"patch": "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-" + secret + "\n\\ No newline at end of file\n+owned\n"})
	if s.content("a") != "owned" || s.content("b") != "owned\n" {
		t.Errorf("written are %q and %q", s.content("a"), s.content("b"))
	}
	s.untouched()
}

// Reading a file of 1 GiB costs only the bytes read; content or a patch that is too large is refused.
func TestTheLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put("big", "begin")
	if err := os.Truncate(filepath.Join(s.folder, "big"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if out := s.must("workspace.read", object{"path": "big"}); out["bytes_read"] != float64(1<<20) ||
		out["total_bytes"] != float64(1<<30) || out["truncated"] != true {
		t.Errorf("read %v of %v", out["bytes_read"], out["total_bytes"])
	}
	if out := s.must("workspace.read", object{"path": "big", "max_bytes": 1 << 40}); out["bytes_read"] != float64(1<<20) {
		t.Errorf("asked for all, it read %v", out["bytes_read"])
	}
	for tool, input := range map[string]object{
		"workspace.write": {"path": "w", "content": strings.Repeat("x", 11<<20)},
		"patch.apply":     {"patch": "--- a/big\n+++ b/big\n@@ -1 +1 @@\n-begin\n+" + strings.Repeat("x", 1<<20) + "\n"},
	} {
		if _, err := s.call(tool, input); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if _, err := s.call("patch.apply", object{"patch": "--- a/big\n+++ b/big\n@@ -1 +1 @@\n-begin\n+x\n"}); err == nil {
		t.Error("1 GiB was patched")
	}
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() { s.must("workspace.write", object{"path": fmt.Sprintf("many/%d", i), "content": "x"}) })
	}
	group.Wait()
	if out := s.must("workspace.list", object{"path": "many", "limit": 10}); len(out["entries"].([]any)) != 10 ||
		out["truncated"] != true {
		t.Errorf("listed %v", out)
	}
}

// The server's own files within a workspace do not exist for the tools, whatever leads to them; fixed files are
// readable.
func TestServerFilesAreHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	folder, err := filepath.EvalSymlinks(s.folder)
	if err != nil {
		t.Fatal(err)
	}
	s.put(".data/harness.db", "rows")
	s.put(".env", "TOKEN=1")
	s.put("agents/helper/events.mjs", "code")
	s.put("a.txt", "a")
	s.link(".data", "link")
	s.link(".env", "env")
	for _, one := range workspace.Tools(
		workspace.Limits{Hidden: []string{filepath.Join(folder, ".data"), filepath.Join(folder, ".env")},
			Fixed: []string{filepath.Join(folder, "agents")}}) {
		s.tools[one.Name] = one
	}
	for _, name := range []string{".data/harness.db", "link/harness.db", ".env", "env", "agents/../.env"} {
		if out, err := s.call("workspace.read", object{"path": name}); err == nil {
			t.Errorf("read %s: %v", name, out)
		}
	}
	for _, name := range []string{".data/new", "link/new/deep", ".env", "agents/helper/events.mjs", "agents/new.mjs",
		"agents"} {
		if out, err := s.call("workspace.write", object{"path": name, "content": "owned"}); err == nil {
			t.Errorf("wrote %s: %v", name, out)
		}
		if out, err := s.call("patch.apply", object{"patch": outward(name)}); err == nil {
			t.Errorf("patched %s: %v", name, out)
		}
	}
	for _, name := range []string{".data", "link"} {
		if out, err := s.call("workspace.list", object{"path": name}); err == nil {
			t.Errorf("listed %s: %v", name, out)
		}
	}
	if _, err := s.call("patch.apply",
		object{"patch": "--- a/.env\n+++ /dev/null\n@@ -1 +0,0 @@\n-TOKEN=1\n\\ No newline at end of file\n"}); err == nil {
		t.Error("the settings were removed")
	}
	if listed := fmt.Sprint(s.must("workspace.list", object{"recursive": true})); strings.Contains(listed, "harness.db") ||
		strings.Contains(listed, "path:.env") || !strings.Contains(listed, "events.mjs") {
		t.Errorf("listed are %s", listed)
	}
	if s.must("workspace.read", object{"path": "agents/helper/events.mjs"})["content"] != "code" ||
		s.content(".env") != "TOKEN=1" ||
		s.must("workspace.write", object{"path": "a.txt", "content": "b"})["created"] != false {
		t.Error("what is not hidden is not as it should be")
	}
	if left, err := os.ReadDir(filepath.Join(s.folder, ".data")); err != nil || len(left) != 1 {
		t.Errorf("the data directory has %v (%v)", left, err)
	}
}
