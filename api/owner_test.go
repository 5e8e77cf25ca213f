package api_test

import (
	"net/http"
	"strings"
	"testing"

	"harness/session"
)

// What needs the runtime of another node's session is refused with the owner's name: after 410, 403 and 404, before the
// body is looked at, and before the runtime is asked.
func TestAnotherNodesSessionIsMisdirected(t *testing.T) {
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
		t.Errorf("the runtime was asked %v", b.runtime.calls)
	}
}
