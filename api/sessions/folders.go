package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/services/session"
)

var foldersQuery = schema.Struct(rest.Optional("q", schema.Text{}.Max(operations.MaxPath)))

// folderRoutes suggest folders for new sessions.
func (s *folders) folderRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodGet, Path: "/api/folders", Access: rest.AccessOperator, OwnReach: true, Begins: true,
		Query: foldersQuery, Handle: s.list}}
}

type folderView struct {
	Path string `json:"path"`
	Git  bool   `json:"git"`
	// Branch is null outside Git, and for a commit that is checked out without a branch.
	Branch *string `json:"branch"`
}

type recentFolderView struct {
	folderView
	UsedAt   string `json:"usedAt"`
	Running  int    `json:"running"`
	NeedsYou int    `json:"needsYou"`
}

func viewFolder(one session.Folder) folderView {
	return folderView{one.Path, one.Git, rest.TextOrNull(one.Branch)}
}

func (s *folders) list(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	page, err := s.folders.Folders(ctx, in.Query.Get("q").Text())
	if err != nil {
		return rest.Reply{}, err
	}
	body := struct {
		Recent  []recentFolderView `json:"recent"`
		Matches []folderView       `json:"matches"`
		More    bool               `json:"more"`
	}{[]recentFolderView{}, []folderView{}, page.More}
	for _, one := range page.Recent {
		body.Recent = append(body.Recent, recentFolderView{viewFolder(one.Folder), javascript.ISOTime(one.UsedAt), one.Running, one.NeedsYou})
	}
	for _, one := range page.Matches {
		body.Matches = append(body.Matches, viewFolder(one))
	}
	return rest.OK(body)
}
