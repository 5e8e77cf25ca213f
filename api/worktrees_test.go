package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/services/session"
	"harness/internal/services/worktree"
)

// fakeWorktrees has one worktree, which is removed only with force.
type fakeWorktrees struct{}

func (fakeWorktrees) Make(_ context.Context, wish worktree.Wish) (worktree.Worktree, error) {
	if wish.Branch == "taken" {
		return worktree.Worktree{}, &worktree.RefusedError{Reason: "the branch is taken"}
	}
	return worktree.Worktree{Folder: "/worktrees/" + wish.Branch + wish.Base}, nil
}

func (fakeWorktrees) Keep(worktree.Worktree) error { return nil }

func (fakeWorktrees) Discard(context.Context, worktree.Worktree) error { return nil }

func (fakeWorktrees) List(context.Context) ([]worktree.Status, error) {
	return []worktree.Status{{Worktree: worktree.Worktree{ID: "w", Folder: "/worktrees/w", State: worktree.Ready}, Uncommitted: 1, Kept: "kept"}}, nil
}

func (fakeWorktrees) Find(id string) (worktree.Worktree, error) {
	if id == "none" {
		return worktree.Worktree{}, worktree.ErrNotFound
	}
	return worktree.Worktree{ID: id, Folder: "/worktrees/" + id}, nil
}

func (fakeWorktrees) Remove(_ context.Context, id string, force bool) (string, error) {
	if !force {
		return "", &worktree.RefusedError{Reason: "the worktree is kept"}
	}
	return "/trash/" + id, nil
}

// A session is opened in its worktree. A worktree that a session uses, or that has unsaved files, is kept.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.WorkingTrees.Worktrees = fakeWorktrees{} })
	b.sessions.next.page = session.Page{Sessions: []session.Session{{ID: "user", Cwd: "/worktrees/used/sub"}}}
	for _, one := range []struct {
		method, target, body string
		status               int
		text                 string
	}{
		{http.MethodPost, "/api/sessions", `{"worktree":{"branch":"taken"}}`, 409, `"worktree_refused"`},
		{http.MethodPost, "/api/sessions", `{"worktree":{"branch":""}}`, 400, `"path":["worktree","branch"]`},
		{http.MethodPost, "/api/sessions", `{"worktree":{"branch":"b","base":"c"}}`, 200, `"session"`},
		{http.MethodGet, "/api/worktrees", "", 200, `"sessionId":null`},
		{http.MethodDelete, "/api/worktrees/w", "", 409, "the worktree is kept"},
		{http.MethodDelete, "/api/worktrees/used?force=true", "", 409, "session user works in the worktree"},
		{http.MethodDelete, "/api/worktrees/w?force=true", "", 200, `"trash":"/trash/w"`},
		{http.MethodDelete, "/api/worktrees/none", "", 404, `"worktree_not_found"`},
	} {
		kind := ""
		if one.body != "" {
			kind = "application/json"
		}
		got := b.send(one.method, one.target, kind, one.body)
		if got.Code != one.status || !strings.Contains(got.Body.String(), one.text) {
			t.Errorf("%s %s %s: %d %s, want %d with %s", one.method, one.target, one.body, got.Code, got.Body, one.status, one.text)
		}
	}
	if all := b.sessions.created; len(all) != 1 || all[0].Cwd != "/worktrees/bc" {
		t.Errorf("created are %+v", all)
	}
}
