package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/services/tools/workspace"
)

// fakeFiles has a folder of three entries and a file.
type fakeFiles struct{}

func (fakeFiles) List(_ context.Context, _, name string, offset, limit int) (workspace.Listing, error) {
	all := []workspace.Entry{{Name: "sub", Folder: true}, {Name: ".env", Closed: workspace.ClosedSecret}, {Name: "a", Size: 7}}
	if name == "closed" {
		return workspace.Listing{}, &workspace.RefusedError{Reason: "not shown"}
	}
	return workspace.Listing{Entries: all[min(offset, 3):min(offset+limit, 3)], Total: 3}, nil
}

func (fakeFiles) Read(_, name string, from int64) (workspace.Content, error) {
	switch name {
	case "none":
		return workspace.Content{}, workspace.ErrNoFile
	case "binary":
		return workspace.Content{Size: 9, Binary: true}, nil
	}
	return workspace.Content{Size: 9, Text: "text", Next: from + 4}, nil
}

// Folders come in pages and files in ranges. Only the text of a text file is returned.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.Files = fakeFiles{} })
	for target, want := range map[string]struct {
		status int
		text   string
	}{
		"/files":                       {200, `"total":3,"more":false,"nextCursor":null}`},
		"/files?limit=1":               {200, `"entries":[{"name":"sub","kind":"folder","link":false,"size":null,"modifiedAt":null,"closed":null}],"total":3,"more":false,"nextCursor":"1"}`},
		"/files?path=x&cursor=1":       {200, `{"name":".env","kind":"file","link":false,"size":null,"modifiedAt":null,"closed":"secret"},{"name":"a","kind":"file","link":false,"size":7,`},
		"/files?path=closed":           {409, `"file_not_shown"`},
		"/files?limit=0":               {400, `"path":["limit"]`},
		"/files/content?path=a&from=2": {200, `"binary":false,"from":2,"text":"text","next":6}`},
		"/files/content?path=binary":   {200, `"size":9,"modifiedAt":"0001-01-01T00:00:00Z","type":"","binary":true,"from":0,"text":null,"next":null}`},
		"/files/content?path=none":     {404, `"file_not_found"`},
		"/files/content":               {400, `"path":["path"]`},
	} {
		got := b.send(http.MethodGet, "/api/sessions/"+knownID+target, "", "")
		if got.Code != want.status || !strings.Contains(got.Body.String(), want.text) {
			t.Errorf("%s: %d %s, want %d with %s", target, got.Code, got.Body, want.status, want.text)
		}
	}
}
