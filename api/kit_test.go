package api_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/api"
	"harness/api/admin"
	"harness/internal/operations"
	"harness/internal/platform/auth"
	"harness/internal/platform/auth/oidc"
	"harness/internal/runtime"
)

// Auth returns the recorded server's values.
func (f *fakeHealth) Auth() api.AuthHealth { return api.AuthHealth{HasOpenAIAPIKey: true} }

// harnessBundle is a handler and the parts behind it that a test may inspect.
type harnessBundle struct {
	handler  http.Handler
	sessions *fakeSessions
	health   *fakeHealth
	runtime  *fakeRuntime
	log      *bytes.Buffer
	now      *time.Time
}

// behind has the parts that operations use. parts has all parts behind a handler.
type (
	behind = operations.Options
	parts  struct {
		api.Options
		behind
	}
)

func setup(t testing.TB, change ...func(*parts)) *harnessBundle {
	t.Helper()
	now := time.Date(2026, 11, 21, 1, 28, 12, 0, time.UTC)
	b := &harnessBundle{
		sessions: newFake(), health: &fakeHealth{status: runtime.Status{State: runtime.StateReady, PID: 24125}},
		log: &bytes.Buffer{}, now: &now, runtime: &fakeRuntime{},
	}
	b.sessions.runtime = b.runtime
	options := parts{behind: behind{Sessions: operations.Sessions{Lookups: b.sessions, Opener: b.sessions, Reader: b.sessions, Editor: b.sessions, Turns: b.sessions,
		Threads: b.sessions, Queue: b.sessions, Requests: b.sessions, Projects: b.sessions, Usage: b.sessions,
		Prices: fakePrices{}, Folders: b.sessions},
		Controls: newFakeControls("untrusted", "restricted", "read-only")}, Options: api.Options{
		Health: b.health, Runtime: b.runtime, Version: "test", Clock: func() time.Time { return *b.now },
		Administration: api.Administration{Tokens: echoedTokens{}, Push: echoedPush{},
			Logins: auth.NewLogins(auth.Options{Token: "a-token-of-the-tests"}, "/"),
			OIDC: admin.OIDC{Providers: oidc.NewSet([]oidc.Provider{{Name: "provider", Kind: oidc.KindLogin,
				Issuer: "http://127.0.0.1:1", ClientID: "harness"}}, nil, time.Now)}},
		Observation: api.Observation{Logger: zerolog.New(zerolog.SyncWriter(b.log)).Level(zerolog.DebugLevel)},
	}}
	for _, edit := range change {
		edit(&options)
	}
	options.Operations = operations.New(options.behind)
	b.handler = api.New(options.Options)
	return b
}

// send calls the handler without a network. A body of "" means no body.
func (b *harnessBundle) send(method, target, contentType, body string) *httptest.ResponseRecorder {
	return b.sendRequest(request(method, target, contentType, body))
}

func (b *harnessBundle) sendRequest(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	b.handler.ServeHTTP(recorder, r)
	return recorder
}

func request(method, target, contentType, body string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

func (b *harnessBundle) post(target, body string) *httptest.ResponseRecorder {
	return b.send(http.MethodPost, target, "application/json", body)
}

func expect(t *testing.T, got *httptest.ResponseRecorder, status int, body string) {
	t.Helper()
	if got.Code != status || got.Body.String() != body {
		t.Errorf("got  %d %s\nwant %d %s", got.Code, got.Body.String(), status, body)
	}
}
