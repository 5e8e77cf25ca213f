package admin

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/content/search"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
)

// maxQuery is the maximum length of a search query in characters.
const maxQuery = 500

var searchQuery = schema.Struct(rest.Required("q", schema.Text{}.Trim().Min(1).Max(maxQuery)),
	rest.Optional("project", rest.Name), rest.Optional("session", rest.Name), rest.Optional("cursor", rest.Cursor),
	rest.Optional("limit", schema.Integer().Coerce().Min(1).Max(operations.MaxHits)))

func (s *reportAPI) searchRoutes() []rest.Route {
	return []rest.Route{{Method: http.MethodGet, Path: "/api/search", Query: searchQuery, OwnReach: true,
		Handle: s.search}}
}

type hitView struct {
	SessionID string        `json:"sessionId"`
	Title     string        `json:"title"`
	EntryID   *string       `json:"entryId"`
	TurnID    *string       `json:"turnId"`
	Role      *string       `json:"role"`
	Type      *string       `json:"type"`
	Time      string        `json:"time"`
	Snippet   string        `json:"snippet"`
	Marks     []search.Mark `json:"marks"`
}

func (s *reportAPI) search(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	page, err := s.finder.Search(ctx, search.Query{Text: in.Query.Get("q").Text(),
		Session: in.Query.Get("session").Text(), Project: in.Query.Get("project").Text(), Cursor: in.Query.Get("cursor").Text(),
		Limit: int(in.Query.Get("limit").Int())})
	var refused *search.QueryError
	switch {
	case errors.As(err, &refused):
		err = &rest.ValidationError{Issues: []schema.Issue{schema.Custom(refused.Reason, "q")}}
	case errors.Is(err, search.ErrBadCursor):
		err = &rest.ValidationError{Issues: []schema.Issue{schema.Custom(err.Error(), "cursor")}}
	}
	if err != nil {
		return rest.Reply{}, err
	}
	data := make([]hitView, len(page.Hits))
	for i, h := range page.Hits {
		data[i] = hitView{h.SessionID, h.Title, rest.TextOrNull(h.EntryID), rest.TextOrNull(h.TurnID), rest.TextOrNull(h.Role),
			rest.TextOrNull(h.Type), javascript.ISOTime(h.Time), h.Snippet, h.Marks}
	}
	return rest.OK(struct {
		Data       []hitView `json:"data"`
		NextCursor *string   `json:"nextCursor"`
		Behind     bool      `json:"behind"`
	}{data, rest.TextOrNull(page.Next), page.Behind})
}
