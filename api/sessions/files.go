package sessions

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/services/tools/workspace"
	"harness/internal/services/workingtree"
)

type files struct{ files *operations.Files }

const filesPath = "/api/sessions/:sessionId/files"

var (
	filesQuery = schema.Struct(rest.Optional("path", schema.Text{}.Min(1).Max(4096)),
		rest.Optional("cursor", schema.Integer().Coerce().Min(0).Max(1<<30)),
		rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxFiles)))
	contentQuery = schema.Struct(schema.Field{Name: "path", Schema: schema.Text{}.Min(1).Max(4096)},
		rest.Optional("from", schema.Integer().Coerce().Min(0).Max(1<<53-1)))
)

// fileRoutes show more than a transcript does: they need the role of an operator.
func (s *files) fileRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: filesPath, Operation: operations.ReadFiles, Access: rest.AccessOperator,
			Query: filesQuery, Handle: s.list},
		{Method: http.MethodGet, Path: filesPath + "/content", Operation: operations.ReadFiles, Access: rest.AccessOperator,
			Query: contentQuery, Handle: s.content},
	}
}

type filesBody struct {
	Status    string      `json:"status"`
	SessionID string      `json:"sessionId"`
	Path      string      `json:"path"`
	Entries   []entryView `json:"entries"`
	Total     int         `json:"total"`
	// More means that the folder has entries that are not listed.
	More       bool    `json:"more"`
	NextCursor *string `json:"nextCursor"`
}

type entryView struct {
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	Link       bool    `json:"link"`
	Size       *int64  `json:"size"`
	ModifiedAt *string `json:"modifiedAt"`
	Closed     *string `json:"closed"`
}

func (s *files) list(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name := in.Query.Get("path").Text()
	page, err := s.files.Files(ctx, in.SessionID(), name, int(in.Query.Get("cursor").Int()), int(in.Query.Get("limit").Int()))
	if err != nil {
		return rest.Reply{}, err
	}
	body := filesBody{Status: "ok", SessionID: in.SessionID(), Path: name, Entries: make([]entryView, 0, len(page.Entries)),
		Total: page.Total, More: page.More}
	for _, one := range page.Entries {
		body.Entries = append(body.Entries, viewOf(one))
	}
	if page.Next > 0 {
		body.NextCursor = orNull(strconv.Itoa(page.Next))
	}
	return rest.OK(body)
}

func viewOf(one workspace.Entry) entryView {
	view := entryView{Name: workingtree.ShownPath(one.Name), Kind: "file", Link: one.Link, Closed: orNull(string(one.Closed))}
	if one.Folder {
		view.Kind = "folder"
	} else if one.Closed == "" {
		view.Size = &one.Size
	}
	if !one.Modified.IsZero() {
		view.ModifiedAt = orNull(one.Modified.UTC().Format(time.RFC3339Nano))
	}
	return view
}

type contentBody struct {
	Status     string  `json:"status"`
	Path       string  `json:"path"`
	Size       int64   `json:"size"`
	ModifiedAt string  `json:"modifiedAt"`
	Type       string  `json:"type"`
	Binary     bool    `json:"binary"`
	From       int64   `json:"from"`
	Text       *string `json:"text"`
	Next       *int64  `json:"next"`
}

func (s *files) content(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	name, from := in.Query.Get("path").Text(), in.Query.Get("from").Int()
	found, err := s.files.File(ctx, in.SessionID(), name, from)
	if err != nil {
		return rest.Reply{}, err
	}
	body := contentBody{Status: "ok", Path: name, Size: found.Size, ModifiedAt: found.Modified.UTC().Format(time.RFC3339Nano),
		Type: found.Type, Binary: found.Binary, From: from}
	if !found.Binary {
		body.Text = &found.Text
	}
	if found.Next > 0 {
		body.Next = &found.Next
	}
	return rest.OK(body)
}
