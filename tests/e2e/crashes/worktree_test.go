package crashes

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// repository makes a repository whose hooks and smudge filter leave a mark when anything runs them. The agent itself runs
// git status there, so what that runs is left out.
func repository(t *testing.T, s *programtest.Site) (repo, mark string) {
	t.Helper()
	repo, mark = filepath.Join(s.Workspace, "repo"), filepath.Join(s.Workspace, "ran")
	script := strings.NewReplacer("MARK", mark, "REPO", repo).Replace(`set -e
git init -q -b main REPO; cd REPO
printf 'one\n' > a.txt; printf '* filter=evil\n' > .gitattributes
git add -A; git -c user.name=a -c user.email=a@x commit -qm first
printf '#!/bin/sh\ntr "\\0" " " < /proc/$PPID/cmdline >> MARK\necho "ran $0" >> MARK\ncat\n' > .git/evil; chmod +x .git/evil
for hook in post-checkout reference-transaction; do ln -s ../evil .git/hooks/$hook; done
git config filter.evil.smudge REPO/.git/evil; git config filter.evil.required true; rm -f MARK`)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return repo, mark
}

// killInAWorktree kills the server while it makes another worktree.
func killInAWorktree(t *testing.T, s *programtest.Site, server *programtest.Server, repo string) {
	t.Helper()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/sessions",
			strings.NewReader(`{"cwd":"`+repo+`","worktree":{}}`))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(request); err == nil { // the kill cuts it off
			_ = answer.Body.Close()
		}
	}()
	server.Eventually("a second worktree is in the making", func() bool {
		records, err := filepath.Glob(filepath.Join(s.DataDir, "worktrees", "*.json"))
		return err == nil && len(records) == 2
	})
	server.Kill()
	<-asked
}

// requireWorktrees fails unless every worktree of the repository is whole and listed, and nothing of the repository ran.
func requireWorktrees(t *testing.T, server *programtest.Server, repo, mark, session string) {
	t.Helper()
	listed, _ := server.Want(http.StatusOK, http.MethodGet, "/api/worktrees", nil)["worktrees"].([]any)
	found, used := map[string]bool{}, false
	for _, one := range listed {
		folder := programtest.Text(one, "folder")
		found[filepath.Base(folder)] = true
		if content, err := os.ReadFile(filepath.Join(folder, "a.txt")); err != nil || string(content) != "one\n" {
			t.Errorf("%s has %q, %v", folder, content, err)
		}
		used = used || programtest.Text(one, "sessionId") == session
	}
	linked, err := filepath.Glob(filepath.Join(repo, ".git", "worktrees", "*"))
	branches, err2 := filepath.Glob(filepath.Join(repo, ".git", "refs", "heads", "harness", "*"))
	if err != nil || err2 != nil || len(linked) != len(listed) || len(branches) != len(listed) || !used {
		t.Errorf("listed are %v, linked %v, branches %v", listed, linked, branches)
	}
	for _, path := range linked {
		if !found[filepath.Base(path)] {
			t.Errorf("%s is not listed in %v", path, listed)
		}
	}
	if ran, err := os.ReadFile(mark); err == nil {
		t.Errorf("the repository ran %s", ran)
	}
}
