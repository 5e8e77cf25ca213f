package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/content/search"
)

// fakeSearching returns its arguments in place of a snippet.
type fakeSearching struct{}

func (fakeSearching) Search(_ context.Context, want search.Query) (search.Page, error) {
	switch {
	case want.Text == "!":
		return search.Page{}, &search.QueryError{Reason: "no word"}
	case want.Cursor == "bogus":
		return search.Page{}, search.ErrBadCursor
	}
	return search.Page{Hits: []search.Hit{{SessionID: "s", Snippet: asked(want), Marks: []search.Mark{{Start: 1, End: 2}}}},
		Next: "7", Behind: true}, nil
}

// A search responds as documented, and names the invalid part of a request.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.Searching = fakeSearching{} })
	for target, want := range map[string]string{
		"?q=a":                             `"entryId":null,"turnId":null,"role":null,"type":null,"time":"1970-01-01T00:00:00.000Z"`,
		"?q=+a+":                           `"marks":[{"start":1,"end":2}]}],"nextCursor":"7","behind":true}`,
		"?q=a&limit=7":                     `\"Limit\":7`,
		"?q=b&session=s&project=p":         `\"Session\":\"s\",\"Project\":\"p\"`,
		"":                                 `"path":["q"]`,
		"?q=":                              `"path":["q"]`,
		"?q=%20":                           `"path":["q"]`,
		"?q=!":                             `"path":["q"],"message":"no word"`,
		"?q=a&cursor=bogus":                `"path":["cursor"]`,
		"?q=a&limit=101":                   `"path":["limit"]`,
		"?q=" + strings.Repeat("x", 501):   `"path":["q"]`,
		"?q=a&limit=-1":                    `"path":["limit"]`,
		"?q=" + strings.Repeat("%22", 300): `"snippet"`,
	} {
		status := http.StatusOK
		if strings.HasPrefix(want, `"path"`) {
			status = http.StatusBadRequest
		}
		got := b.send(http.MethodGet, "/api/search"+target, "", "")
		if got.Code != status || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %d with %s", target, got.Code, got.Body, status, want)
		}
	}
}
