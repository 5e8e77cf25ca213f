package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/cluster/forward"
	"harness/internal/services/session"
)

// A request that needs the runtime of another node's session is refused with the owner's name. This check follows
// 410, 403 and 404, and precedes the body and the runtime.
func TestRemoteSessionIsRefusedWithOwner(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.lookup = func(id string) (session.Session, error) {
		switch id {
		case deletedID:
			return session.Session{}, &session.DeletedError{SessionID: id}
		case unknownID:
			return session.Session{}, session.ErrNotFound
		}
		return session.Session{ID: id, NodeID: "elsewhere", SystemOwned: id == systemID}, nil
	}
	for _, op := range []struct{ method, path string }{
		{http.MethodPost, "/messages"}, {http.MethodPost, "/interrupt"}, {http.MethodPost, "/turns/t/steer"},
		{http.MethodPost, "/turns/t/retry"}, {http.MethodPost, "/rename"}, {http.MethodPost, "/archive"},
		{http.MethodPost, "/unarchive"}, {http.MethodPost, "/fork"}, {http.MethodPost, "/compact"},
		{http.MethodPost, "/rollback"}, {http.MethodPost, "/review"}, {http.MethodPost, "/background-terminals/clean"},
		{http.MethodPost, "/suggested-request"}, {http.MethodPost, "/suggested-request/jobs"}, {http.MethodDelete, ""},
	} {
		for id, want := range map[string]int{deletedID: http.StatusGone, systemID: http.StatusForbidden,
			knownID: http.StatusMisdirectedRequest} {
			got := b.send(op.method, "/api/sessions/"+id+op.path, "application/json", `{"not":"read"}`)
			body := got.Body.String()
			if got.Code != want {
				t.Errorf("%s %s of %s answered %d %s, want %d", op.method, op.path, id, got.Code, body, want)
			}
			if want == http.StatusMisdirectedRequest &&
				(!strings.HasPrefix(body, `{"status":"error","code":"not_owner","message":"session `+knownID) ||
					!strings.HasSuffix(body, `,"sessionId":"`+knownID+`","owner":{"nodeId":"elsewhere"}}`)) {
				t.Errorf("%s %s answered %s", op.method, op.path, body)
			}
		}
	}
	if len(b.runtime.calls) != 0 {
		t.Errorf("the runtime got %v", b.runtime.calls)
	}
}

// owners respond for other nodes, or fail.
type owners struct {
	asked  []string
	answer *http.Response
	err    error
	takers []string
	away   string // an unreachable node
}

func (o *owners) Takers(context.Context) ([]string, error) { return o.takers, nil }

func (o *owners) Ask(r *http.Request, owner, body string) (*http.Response, error) {
	o.asked = append(o.asked, r.Method+" "+r.URL.RequestURI()+" of "+owner+": "+body)
	if owner == o.away {
		return nil, &forward.UnreachableError{NodeID: owner, Cause: io.EOF}
	}
	return o.answer, o.err
}

// The owner gets the original request, only if it must handle it, and its response is passed on. If it cannot
// respond, the server reports the reason.
func TestRequestIsForwardedToOwner(t *testing.T) {
	t.Parallel()
	asked := &owners{}
	b := setup(t, func(p *parts) { p.Owners = asked })
	b.sessions.lookup = func(id string) (session.Session, error) {
		if id == unknownID {
			return session.Session{}, session.ErrNotFound
		}
		return session.Session{ID: id, NodeID: "elsewhere"}, nil
	}
	const path, body = "/api/sessions/" + knownID + "/messages", `{"text": "as it was sent"}`
	for _, test := range []struct {
		err              error
		status           int
		code, retryAfter string
	}{
		{nil, http.StatusTeapot, "the owner's", "9"},
		{forward.ErrClientsTurn, http.StatusMisdirectedRequest, "not_owner", ""},
		{&forward.UnreachableError{NodeID: "elsewhere", RetryAfter: 2100 * time.Millisecond, Cause: io.EOF},
			http.StatusServiceUnavailable, "owner_unreachable", "3"},
		{&forward.LostAnswerError{NodeID: "elsewhere", Cause: io.EOF}, http.StatusGatewayTimeout, "owner_answer_lost", ""},
	} {
		asked.err = test.err
		asked.answer = &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{"Retry-After": {"9"}, "Set-Cookie": {"a=b"}},
			Body: io.NopCloser(strings.NewReader(`{"code":"the owner's"}`))}
		got := b.post(path, body)
		if got.Code != test.status || !strings.Contains(got.Body.String(), `"code":"`+test.code+`"`) ||
			got.Header().Get("Retry-After") != test.retryAfter || got.Header().Get("Set-Cookie") != "" {
			t.Errorf("%v: answered %d %v %s", test.err, got.Code, got.Header(), got.Body)
		}
	}
	b.post("/api/sessions/"+unknownID+"/messages", body)
	b.send(http.MethodPost, path, "application/json", `{"text":`)
	if want := "POST " + path + " of elsewhere: " + body; len(asked.asked) != 4 || asked.asked[3] != want {
		t.Errorf("forwarded %q, want %q four times", asked.asked, want)
	}
}

// A node that creates no sessions forwards to other nodes, with or without a key, until one is reachable. Otherwise
// it refuses, except for sessions that it created with the same key.
func TestOtherNodesCreateSessions(t *testing.T) {
	t.Parallel()
	asked := &owners{away: "away"}
	b, post := keyed(t, func(p *parts) { p.Owners = asked })
	const path, body = "/api/sessions", `{"cwd":"/w"}`
	if got := post("ann", "made-here", path, body); got.Code != http.StatusOK || len(asked.asked) > 0 {
		t.Fatalf("created here: %d %s, forwarded %q", got.Code, got.Body, asked.asked)
	}
	b.sessions.noNew = &session.ElsewhereError{Node: "this", Why: "is drained"}
	for _, key := range []string{keyless, "alone"} {
		got := post("ann", key, path, `{}`)
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "node this is drained") {
			t.Errorf("without another node: %d %s", got.Code, got.Body)
		}
	}
	if got := post("ann", "made-here", path, body); got.Code != http.StatusOK || got.Header().Get("Idempotency-Replayed") == "" {
		t.Errorf("a session created here: %d %s", got.Code, got.Body)
	}
	asked.takers = []string{"away", "b", "c"}
	for i, key := range []string{keyless, "k", "k"} {
		asked.answer = &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("b's"))}
		if got := post("ann", key, path, body); got.Code != http.StatusTeapot || got.Body.String() != "b's" {
			t.Errorf("%d: answered %d %s", i, got.Code, got.Body)
		}
	}
	if want := "POST /api/sessions of b: " + body; len(asked.asked) != 6 || asked.asked[1] != want || asked.asked[5] != want {
		t.Errorf("asked %q", asked.asked)
	}
	if len(b.sessions.created) != 1 {
		t.Errorf("created here: %v", b.sessions.created)
	}
}
