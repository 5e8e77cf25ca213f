package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/internal/lib/shadow"
	"harness/internal/services/session/rewind"
	"harness/internal/services/workingtree"
)

// fakeChanges has three changed files, and returns its arguments in place of a patch.
type fakeChanges struct{}

func (fakeChanges) Changes(_ context.Context, _, _ string, base workingtree.Base) (workingtree.Changes, error) {
	if base.Turn == "unknown" {
		return workingtree.Changes{}, fmt.Errorf("%w: unknown", workingtree.ErrUnknownTurn)
	}
	compared := "base"
	if base.Branch {
		compared = "commit"
	}
	found := workingtree.Changes{Base: compared, Tree: "tree", At: time.UnixMilli(0)}
	for _, path := range []string{"a", "b", "c\xff"} {
		found.Files = append(found.Files, workingtree.File{Change: shadow.Change{Path: path, Kind: shadow.Added, Mode: "100644", Added: 1},
			TurnID: base.Turn})
	}
	return found, nil
}

func (fakeChanges) Diff(_ context.Context, _, _ string, base workingtree.Base, file string, lines int) ([]byte, error) {
	return []byte(asked([]any{base, file, lines})), nil
}

// fakeRewinds returns its arguments in place of turns.
type fakeRewinds struct{}

func (fakeRewinds) Rewind(_ context.Context, _ string, in rewind.Request) (rewind.Result, error) {
	return rewind.Result{ID: "id", TurnID: in.TurnID, Turns: []string{asked([]any{in})}}, nil
}

func (fakeChanges) Blame(_ context.Context, _, file string) (workingtree.Blame, error) {
	if file != "a" {
		return workingtree.Blame{}, &workingtree.FileError{Reason: "no such file"}
	}
	return workingtree.Blame{At: time.UnixMilli(0), Lines: []workingtree.BlamedLines{{From: 1, Text: []string{"one", "two"}, Certain: true},
		{From: 3, Text: []string{"three\xff", "four"}, SessionID: "gone", TurnID: "t", Certain: true}}}, nil
}

// Changes come in pages, with the sums of all pages. A path that is not UTF-8 is shown with escapes.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.Changes = fakeChanges{} })
	for target, want := range map[string]string{
		"/changes":              `"total":3,"added":3,"removed":0,"skipped":[],"nextCursor":null}`,
		"/changes?limit=2":      `"nextCursor":"2"}`,
		"/changes?cursor=2":     `"files":[{"path":"c\\xff","from":null,"kind":"added","mode":"100644","added":1`,
		"/changes?turn=t":       `"turnId":"t","base":"base","tree":"tree","asOf":"1970-01-01T00:00:00Z"`,
		"/changes?turn=unknown": `"turn_state_not_found"`,
		"/changes?limit=0":      `"path":["limit"]`,
		"/changes/diff?path=a":  `\"a\",3]`,
		"/changes/diff?turn=":   `"path":["turn"]`,
		"/blame?path=a": `"asOf":"1970-01-01T00:00:00Z","total":4,"lines":[{"from":1,"to":2,"text":["one","two"],"sessionId":null,` +
			`"turnId":null,"prompt":null,"approvalId":null,"decidedBy":null,"certain":true},{"from":3,"to":4,"text":["three�","four"],` +
			`"sessionId":null,"turnId":null,"prompt":null,"approvalId":null,"decidedBy":null,"certain":false}]`, // of a deleted session
		"/blame?path=a&line=2&limit=2": `"lines":[{"from":2,"to":2,"text":["two"]`,
		"/blame?path=a&line=4":         `"lines":[{"from":4,"to":4,"text":["four"]`,
		"/blame?path=a&line=1&limit=3": `"nextLine":4}`,
		"/blame?path=a&line=9":         `"lines":[],"nextLine":null}`,
		"/blame?path=b":                `"lines_unavailable"`,
		"/blame":                       `"path":["path"]`,
	} {
		status := http.StatusOK
		switch {
		case strings.HasPrefix(want, `"path"`):
			status = http.StatusBadRequest
		case strings.HasPrefix(want, `"lines_un`):
			status = http.StatusUnprocessableEntity
		case strings.HasPrefix(want, `"turn_state`):
			status = http.StatusNotFound
		}
		got := b.send(http.MethodGet, "/api/sessions/"+knownID+target, "", "")
		if got.Code != status || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s, want %d with %s", target, got.Code, got.Body, status, want)
		}
	}
}
