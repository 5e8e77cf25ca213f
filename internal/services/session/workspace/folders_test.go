package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/services/session"
)

// tree makes folders, and files with content, below a new folder.
func tree(t *testing.T, paths map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range paths {
		err := os.MkdirAll(filepath.Dir(root+"/"+path), 0o700)
		if err == nil && !strings.HasSuffix(path, "/") {
			err = os.WriteFile(filepath.Join(root, path), []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func names(found []session.Folder) (all []string) {
	for _, one := range found {
		all = append(all, filepath.Base(one.Path))
	}
	return all
}

// CO-21
func TestFoldersAreCompletedByName_CO21(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"web/": "", "Webshop/": "", "website.txt": "", "other/": "", ".web/": "", "web/inner/": ""})
	checker := &Checker{Root: root, Unusable: func(folder string) string { return Unusable(folder, nil) }}
	for typed, want := range map[string]string{
		root + "/": "[other web Webshop]", root + "/WEB": "[web Webshop]", "we": "[web Webshop]", root + "/.": "[.web]", root + "/web/": "[inner]",
		root + "/none/": "[]", root + "/x": "[]", "../": "[]", "\x00": "[]",
	} {
		if found, more := checker.Complete(typed, nil, 9); fmt.Sprint(names(found)) != want || more {
			t.Errorf("%q completes to %v %v, want %s", typed, names(found), more, want)
		}
	}
	if found, more := checker.Complete(root+"/", nil, 2); len(found) != 2 || !more {
		t.Errorf("limited to %v %v", found, more)
	}
}

// Neither names nor symbolic links lead a limited caller out of its roots.
func TestCompletionStaysBelowItsRoots_CO21(t *testing.T) {
	t.Parallel()
	secret, root := tree(t, map[string]string{"hidden/deep/": ""}), tree(t, map[string]string{"inside/": ""})
	if err := os.Symlink(secret, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	checker := &Checker{Root: root, Unusable: func(folder string) string { return Unusable(folder, nil) }}
	for typed, want := range map[string]string{
		root + "/": "[inside]", root + "/link/": "[]", secret + "/": "[]", root + "/inside/../../": "[]", "/": "[]", root + "/link/hidden/": "[]",
	} {
		if found, _ := checker.Complete(typed, []string{root}, 9); fmt.Sprint(names(found)) != want {
			t.Errorf("%q completes to %v, want %s", typed, names(found), want)
		}
	}
	if found, _ := checker.Complete(root+"/", []string{}, 9); found != nil {
		t.Errorf("without a root: %v", found)
	}
}

// The branch comes from files alone, also for a work tree; a planted pipe or link is not read.
func TestTheBranchOfAFolder_CO21(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"plain/": "", "bad/.git": "nonsense", "pipe/.git/": "", "link/.git/": "", "odd/.git/HEAD": "ref: refs/heads/a b\n",
		"secret": "ref: refs/heads/secret\n"})
	git := func(folder string, args ...string) {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", filepath.Join(root, folder), "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git(".", "init", "--quiet", "-b", "fix/lock", "repo")
	git("repo", "commit", "--quiet", "--allow-empty", "-m", "first")
	git("repo", "worktree", "add", "--quiet", "-b", "other", "../tree")
	git(".", "clone", "--quiet", "repo", "detached")
	git("detached", "checkout", "--quiet", "--detach")
	err := os.Mkdir(filepath.Join(root, "repo", "below"), 0o700)
	if err == nil {
		err = syscall.Mkfifo(filepath.Join(root, "pipe/.git/HEAD"), 0o600)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(root, "secret"), filepath.Join(root, "link/.git/HEAD"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{"repo": "fix/lock true", "repo/below": "fix/lock true", "tree": "other true",
		"detached": " true", "plain": " false", "bad": " false", "pipe": " false", "link": " false", "odd": " true"} {
		if branch, known := branchOf(filepath.Join(root, folder)); fmt.Sprint(branch, " ", known) != want {
			t.Errorf("%s: %q %v, want %s", folder, branch, known, want)
		}
	}
}
