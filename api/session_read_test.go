package api_test

import (
	"errors"
	"net/http"
	"testing"

	"harness/internal/services/session"
	"harness/transcript"
)

func TestReadSessionWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.session = session.Session{ID: knownID}
	b.sessions.next.version = "v1"
	for target, want := range map[string]transcript.Window{
		"?limit=3":            {Limit: 3},
		"?limit=1000":         {Limit: 1000},
		"?before=%20a%2Fb%20": {Limit: 100, Before: "a/b"},
		"?after=x&limit=2":    {Limit: 2, After: "x"},
		"?around=x&limit=2":   {Limit: 2, Around: "x"},
		"?from=start":         {Limit: 100, FromStart: true},
		"?count=true":         {Limit: 100},
		"?details=omit":       {Limit: 100},
	} {
		got := b.send(http.MethodGet, "/api/sessions/"+knownID+target, "", "")
		if got.Code != http.StatusOK || b.sessions.read.Window == nil || *b.sessions.read.Window != want {
			t.Errorf("%s answered %d and wanted %+v", target, got.Code, b.sessions.read.Window)
		}
	}
	const plain = "/api/sessions/" + knownID
	for _, target := range []string{plain, plain + "?other=1"} {
		if b.send(http.MethodGet, target, "", ""); b.sessions.read.Window != nil {
			t.Errorf("%s wanted %+v", target, b.sessions.read.Window)
		}
	}
	expect(t, b.send(http.MethodGet, plain+"?before=a&after=b", "", ""), http.StatusBadRequest,
		`{"status":"error","code":"invalid_request","message":"request validation failed","issues":[{"code":"custom",`+
			`"path":["after"],"message":"Give before or after, not both"}]}`)
	for _, both := range []string{"?around=a&before=b", "?around=a&from=start", "?from=start&after=b", "?from=end", "?count=1",
		"?details=none"} {
		if got := b.send(http.MethodGet, plain+both, "", ""); got.Code != http.StatusBadRequest {
			t.Errorf("%s is answered %d %s", both, got.Code, got.Body)
		}
	}
	expect(t, b.send(http.MethodGet, "/api/sessions/"+unknownID+"?limit=0", "", ""), http.StatusNotFound,
		`{"status":"not_found","sessionId":"`+unknownID+`"}`)
	b.sessions.fail = transcript.ErrBadCursor
	expect(t, b.send(http.MethodGet, plain+"?after=b", "", ""), http.StatusBadRequest,
		`{"status":"error","code":"invalid_request","message":"request validation failed","issues":[{"code":"custom",`+
			`"path":["after"],"message":"No entry of the transcript has this message id"}]}`)
	b.sessions.fail = errors.New("broken")
	if got := b.send(http.MethodGet, plain, "", ""); got.Code != http.StatusInternalServerError ||
		got.Header().Get("ETag") != "" {
		t.Errorf("a failed read is answered %d with version %q", got.Code, got.Header().Get("ETag"))
	}
}

func TestReadSessionVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.session = session.Session{ID: knownID}
	b.sessions.next.version = "v1"
	for given, status := range map[string]int{
		"": http.StatusOK, `"v2"`: http.StatusOK, `v1`: http.StatusOK, `"v1"`: http.StatusNotModified,
		`W/"v1"`: http.StatusNotModified, `"a", W/"v1" ,"b"`: http.StatusNotModified, `*`: http.StatusNotModified,
	} {
		r := request(http.MethodGet, "/api/sessions/"+knownID, "", "")
		if given != "" {
			r.Header.Set("If-None-Match", given)
		}
		got := b.sendRequest(r)
		if got.Code != status || got.Header().Get("ETag") != `W/"v1"` ||
			got.Header().Get("Cache-Control") != "private, no-cache" ||
			(status == http.StatusNotModified) != (got.Body.Len() == 0) {
			t.Errorf("If-None-Match %s: %d %v %q", given, got.Code, got.Header(), got.Body)
		}
	}
}
