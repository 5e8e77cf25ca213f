package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/rs/zerolog"

	"harness/api/idempotency"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/tests/dbtest"
)

// keyless removes the key from a request.
const keyless = "keyless"

// keyed returns a handler with a store of responses. Its callers identify themselves.
func keyed(t *testing.T, options ...func(*parts)) (*harnessBundle, func(caller, key, target, body string) *httptest.ResponseRecorder) {
	t.Helper()
	db := dbtest.Open(t, database.SQLite)
	events := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if err := events.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := events.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	answers := idempotency.New(idempotency.Options{Journal: events, DB: db, NodeID: "n"})
	if err := answers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(p *parts) {
		p.Idempotency = answers
		p.Actor = func(r *http.Request) string { return r.Header.Get("Caller") }
		for _, option := range options {
			option(p)
		}
	})
	return b, func(caller, key, target, body string) *httptest.ResponseRecorder {
		r := request(http.MethodPost, target, "application/json", body)
		r.Header.Set("Caller", caller)
		if key != keyless {
			r.Header.Set("Idempotency-Key", key)
		}
		return b.sendRequest(r)
	}
}

// A request with a key is executed once. A repeat gets the same response, even a refusal. The key belongs to its
// caller and request.
func TestKeyedRequestRunsOnce(t *testing.T) {
	t.Parallel()
	b, post := keyed(t)
	b.sessions.next.turnID = "t-1"
	const path, body = "/api/sessions/" + knownID + "/messages", `{"text":"do it"}`
	accepted := `{"status":"accepted","sessionId":"` + knownID + `","turnId":"t-1"}`
	first := post("ann", "k", path, body)
	expect(t, first, http.StatusAccepted, accepted)
	b.sessions.next.turnID = "t-2"
	again := post("ann", "k", path, body)
	expect(t, again, http.StatusAccepted, accepted)
	if first.Header().Get("Idempotency-Replayed") != "" || again.Header().Get("Idempotency-Replayed") != "true" ||
		len(b.sessions.messages) != 1 {
		t.Errorf("sent %d times; %v, %v", len(b.sessions.messages), first.Header(), again.Header())
	}
	for what, got := range map[string]*httptest.ResponseRecorder{
		"another body": post("ann", "k", path, `{"text":"do that"}`), "another path": post("ann", "k", "/api/projects", `{"name":"p"}`),
	} {
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), `"code":"idempotency_key_reused"`) {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	if got := post("bob", "k", path, body); !strings.Contains(got.Body.String(), "t-2") || len(b.sessions.messages) != 2 {
		t.Errorf("another caller's: %s", got.Body)
	}

	b.sessions.fail = session.ErrWrongTurn
	refused := post("ann", "refused", path, body)
	b.sessions.fail = nil
	if got := post("ann", "refused", path, body); refused.Code < 400 || got.Code != refused.Code ||
		got.Body.String() != refused.Body.String() {
		t.Errorf("refused with %d %s, then answered %d %s", refused.Code, refused.Body, got.Code, got.Body)
	}
	b.sessions.fail = &journal.OutageError{}
	if got := post("ann", "later", path, body); got.Code != http.StatusServiceUnavailable {
		t.Errorf("in an outage: %d %s", got.Code, got.Body)
	}
	b.sessions.fail = nil
	expect(t, post("ann", "later", path, body), http.StatusAccepted, strings.Replace(accepted, "t-1", "t-2", 1))

	sent := len(b.sessions.messages)
	for _, key := range []string{"", " ", "two words", "\x01", "é", strings.Repeat("k", 256)} {
		if got := post("ann", key, path, body); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "Idempotency-Key") {
			t.Errorf("key %q: %d %s", key, got.Code, got.Body)
		}
	}
	// An invalid request never starts, so its key stays free.
	if got := post("ann", "wrong", path, `{"text":""}`); got.Code != http.StatusBadRequest {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	expect(t, post("ann", "wrong", path, body), http.StatusAccepted, strings.Replace(accepted, "t-1", "t-2", 1))
	if len(b.sessions.messages) != sent+1 {
		t.Errorf("sent %d times, not %d", len(b.sessions.messages), sent+1)
	}
}

// Every POST documented with a key accepts one, and no other request does.
func TestRequestsThatAcceptKey(t *testing.T) {
	t.Parallel()
	_, post := keyed(t)
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	described := 0
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			takes := operation.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
			if takes {
				described++
			}
			if method != http.MethodPost || strings.HasPrefix(path, "/v1/") || strings.Contains(path, "extensions") || path == "/rpc" {
				if takes {
					t.Errorf("%s %s says that it takes a key", method, path)
				}
				continue
			}
			body := "{}"
			if content := operation.RequestBody; content != nil {
				if media := content.Value.Content["application/json"]; media != nil && media.Example != nil {
					encoded, err := json.Marshal(media.Example)
					if err != nil {
						t.Fatal(err)
					}
					body = string(encoded)
				}
			}
			target := strings.NewReplacer("{sessionId}", knownID, "{", "", "}", "").Replace(path)
			got := post("ann", "two words", target, body)
			if refused := strings.Contains(got.Body.String(), "Idempotency-Key"); refused != takes {
				t.Errorf("POST %s: described as taking a key: %v; answered %d %s", path, takes, got.Code, got.Body)
			}
		}
	}
	if described != 15 {
		t.Errorf("%d operations take a key", described)
	}
}

// This node does not store a key for another node's session. The session's owner gets the same key.
func TestKeyOfRemoteSessionIsNotStored(t *testing.T) {
	t.Parallel()
	b, post := keyed(t)
	owner := "elsewhere"
	b.sessions.lookup = func(id string) (session.Session, error) { return session.Session{ID: id, NodeID: owner}, nil }
	const path, body = "/api/sessions/" + knownID + "/messages", `{"text":"do it"}`
	if got := post("ann", "k", path, body); got.Code != http.StatusMisdirectedRequest {
		t.Fatalf("answered %d %s", got.Code, got.Body)
	}
	owner = ""
	if got := post("ann", "k", path, body); got.Code != http.StatusAccepted {
		t.Errorf("once it owns the session, the same request gets %d %s", got.Code, got.Body)
	}
}

// A server exits before it responds to a message. The retry has the same name, so it gets the earlier result, and the
// message is not sent again. If the result is unknown, the message is not sent either.
func TestRetriedMessageReturnsEarlierResult(t *testing.T) {
	t.Parallel()
	b, post := keyed(t)
	b.sessions.next.turnID = "t-new"
	const one, body = "/api/sessions/" + knownID, `{"text":"do it"}`
	accepted := func(turn string) string {
		return `{"status":"accepted","sessionId":"` + knownID + `","turnId":"` + turn + `"}`
	}
	// An outage delays the lookup, which then finds the result.
	b.sessions.fail = errors.Join(runtime.ErrTimeout, &journal.OutageError{})
	if got := post("ann", "k", one+"/messages", body); got.Code != http.StatusGatewayTimeout {
		t.Fatalf("in an outage: %d %s", got.Code, got.Body)
	}
	b.sessions.fail, b.sessions.made = nil, "t-1"
	sent := len(b.sessions.messages)
	again := post("ann", "k", one+"/messages", body)
	expect(t, again, http.StatusAccepted, accepted("t-1"))
	if again.Header().Get("Idempotency-Replayed") != "true" || len(b.sessions.messages) != sent {
		t.Errorf("sent %d times; %v", len(b.sessions.messages), again.Header())
	}
	if keys := b.sessions.keys; len(keys) != 2 || keys[0] != keys[1] || keys[0] == "" || keys[0] != b.sessions.messages[0].Key {
		t.Errorf("its name is %q", keys)
	}
	expect(t, post("ann", "r", one+"/turns/t-0/retry", `{}`), http.StatusAccepted, accepted("t-1"))
	if got := post("ann", "q", one+"/queue", body); got.Code != http.StatusAccepted || !strings.Contains(got.Body.String(), `"id":"t-1"`) ||
		got.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("the queued message gets %d %s", got.Code, got.Body)
	}
	b.sessions.made, b.sessions.madeErr = "", session.ErrTurnUnknown
	for path, body := range map[string]string{"/messages": body, "/turns/t-0/retry": `{}`, "/queue": body} {
		got := post("ann", "unknown"+path, one+path, body)
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), `"code":"idempotency_outcome_unknown"`) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	b.sessions.madeErr = errors.Join(runtime.ErrUnavailable, session.ErrTurnUnsettled)
	if got := post("ann", "later", one+"/messages", body); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
		t.Errorf("while it is not known yet: %d %s, %v", got.Code, got.Body, got.Header())
	}
	if len(b.sessions.messages) != sent {
		t.Errorf("sent %d times, not %d", len(b.sessions.messages), sent)
	}
	b.sessions.madeErr = nil
	expect(t, post("ann", "later", one+"/messages", body), http.StatusAccepted, accepted("t-new"))
	if got := post("ann", keyless, one+"/messages", body); got.Code != http.StatusAccepted || b.sessions.messages[sent+1].Key != "" {
		t.Errorf("without a key: %d, known by %q", got.Code, b.sessions.messages[sent+1].Key)
	}
}
