package sessions

import (
	"context"
	"net/http"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/session"
)

type worktrees struct{ worktrees *operations.Worktrees }

var (
	worktreeWish  = schema.Struct(rest.Optional("base", schema.Text{}.Min(1).Max(200)), rest.Optional("branch", schema.Text{}.Min(1).Max(200)))
	removingQuery = schema.Struct(rest.Optional("force", schema.Enum("true", "false")))
)

// worktreeOf returns the worktree that a new session gets, nil for none.
func worktreeOf(in *rest.Input) *session.Worktree {
	wish := in.Body.Get("worktree")
	if !wish.Defined() {
		return nil
	}
	return &session.Worktree{Base: wish.Get("base").Text(), Branch: wish.Get("branch").Text()}
}

// worktreeRoutes list and remove the worktrees of this server alone: another node has its own.
func (s *worktrees) worktreeRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/worktrees", Access: rest.AccessOperator, OwnReach: true, Handle: s.list},
		{Method: http.MethodDelete, Path: "/api/worktrees/:worktreeId", Query: removingQuery, Handle: s.remove},
	}
}

type worktreeView struct {
	ID          string  `json:"id"`
	SessionID   *string `json:"sessionId"`
	Repository  string  `json:"repository"`
	Folder      string  `json:"folder"`
	Branch      string  `json:"branch"`
	Base        string  `json:"base"`
	State       string  `json:"state"`
	CreatedAt   string  `json:"createdAt"`
	RemovedAt   *string `json:"removedAt"`
	Uncommitted int     `json:"uncommitted"`
	Kept        *string `json:"kept"`
}

func (s *worktrees) list(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	found, err := s.worktrees.Worktrees(ctx)
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Worktrees []worktreeView `json:"worktrees"`
	}{[]worktreeView{}}
	for _, one := range found {
		view := worktreeView{ID: one.ID, Repository: one.Repository.Root, Folder: one.Folder, Branch: one.Branch, Base: one.Base,
			State: string(one.State), CreatedAt: one.CreatedAt.UTC().Format(time.RFC3339), Uncommitted: one.Uncommitted, Kept: orNull(one.Kept)}
		if one.Session != nil {
			view.SessionID = &one.Session.ID
		}
		if !one.RemovedAt.IsZero() {
			view.RemovedAt = orNull(one.RemovedAt.UTC().Format(time.RFC3339))
		}
		body.Worktrees = append(body.Worktrees, view)
	}
	return rest.OK(body)
}

func (s *worktrees) remove(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	trash, err := s.worktrees.RemoveWorktree(ctx, in.Params["worktreeId"], in.Query.Get("force").Text() == "true")
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string `json:"status"`
		Trash  string `json:"trash"`
	}{"ok", trash})
}
