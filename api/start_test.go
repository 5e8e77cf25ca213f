package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

// refusingTurns refuses every message.
type refusingTurns struct{ *fakeSessions }

func (refusingTurns) Submit(context.Context, string, session.Message) (session.Sent, error) {
	return session.Sent{}, runtime.ErrAuthRequired
}

// A session whose first message cannot be sent is in the response with the reason. A failure would let a client open
// another one. CO-22
func TestAFirstMessageThatIsRefusedKeepsItsSession_CO22(t *testing.T) {
	t.Parallel()
	b := setup(t, func(p *parts) { p.Sessions.Turns = refusingTurns{p.Sessions.Turns.(*fakeSessions)} })
	b.sessions.next.session = session.Session{ID: knownID}
	got := b.post("/api/sessions", `{"message":{"text":"hello"}}`)
	if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, `"sessionId":"`+knownID) ||
		!strings.Contains(body, `"turn":null,"failure":{"status":"error","code":"auth_required"`) || len(b.sessions.created) != 1 {
		t.Errorf("%d %s", got.Code, body)
	}
	for _, invalid := range []string{`{"text":" "}`, `{"text":"a","images":["upload:1"]}`} {
		if got := b.post("/api/sessions", `{"message":`+invalid+`}`); got.Code != http.StatusBadRequest || len(b.sessions.created) != 1 {
			t.Errorf("%s: %d %s, %d sessions", invalid, got.Code, got.Body, len(b.sessions.created))
		}
	}
}
