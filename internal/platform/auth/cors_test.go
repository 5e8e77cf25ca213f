package auth_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/internal/platform/auth"
)

// Only pages of listed origins get CORS headers.
func TestCORS(t *testing.T) {
	t.Parallel()
	const page = "http://localhost:5173"
	vary := http.Header{"Vary": {"Origin"}}
	readable := http.Header{
		"Vary": {"Origin"}, "Access-Control-Allow-Origin": {page},
		"Access-Control-Expose-Headers": {"ETag, Idempotency-Replayed, Retry-After, WWW-Authenticate, X-Request-Id"},
	}
	preflight := http.Header{
		"Vary": {"Origin"}, "Access-Control-Allow-Origin": {page},
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {"Authorization, Content-Type, Idempotency-Key, If-None-Match, Traceparent, X-Request-Id"},
		"Access-Control-Max-Age":       {"600"},
	}
	asks := "Access-Control-Request-Method: POST"
	listed := []string{"http://127.0.0.1:5173", page}
	for name, c := range map[string]struct {
		allowed []string
		method  string
		headers []string
		status  int
		want    http.Header
	}{
		"read":                     {listed, "GET", []string{"Origin: " + page}, 200, readable},
		"write":                    {listed, "POST", []string{"Origin: " + page}, 200, readable},
		"preflight":                {listed, "OPTIONS", []string{"Origin: " + page, asks}, 204, preflight},
		"no preflight":             {listed, "OPTIONS", []string{"Origin: " + page}, 200, readable},
		"other case":               {listed, "GET", []string{"Origin: HTTP://LOCALHOST:5173"}, 200, nil},
		"no origin":                {listed, "GET", nil, 200, vary},
		"own origin":               {listed, "POST", []string{"Origin: http://127.0.0.1:3001"}, 200, vary},
		"another port":             {listed, "GET", []string{"Origin: http://localhost:5174"}, 200, vary},
		"another port's preflight": {listed, "OPTIONS", []string{"Origin: http://localhost:5174", asks}, 200, vary},
		"IPv6":                     {listed, "OPTIONS", []string{"Origin: http://[::1]:5173", asks}, 200, vary},
		"https":                    {listed, "GET", []string{"Origin: https://localhost:5173"}, 200, vary},
		"null":                     {listed, "OPTIONS", []string{"Origin: null", asks}, 200, vary},
		"star":                     {listed, "GET", []string{"Origin: *"}, 200, vary},
		"two origins":              {listed, "GET", []string{"Origin: " + page, "Origin: " + page}, 200, vary},
		"none listed":              {nil, "OPTIONS", []string{"Origin: " + page, asks}, 200, http.Header{}},
		"websocket": {listed, "GET", []string{"Origin: " + page, "Connection: Upgrade", "Upgrade: websocket"},
			200, http.Header{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(c.method, "/api/sessions", nil)
			r.Host, r.RemoteAddr = "127.0.0.1:3001", "127.0.0.1:55555"
			for _, h := range c.headers {
				key, value, _ := strings.Cut(h, ": ")
				r.Header.Add(key, value)
			}
			w := httptest.NewRecorder()
			nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
			auth.Guard(auth.Options{BoundHost: "127.0.0.1", AllowedOrigins: c.allowed})(nothing).ServeHTTP(w, r)
			want := c.want
			if name == "other case" { // returned as it was sent: the browser compares the texts
				want = maps.Clone(readable)
				want.Set("Access-Control-Allow-Origin", "HTTP://LOCALHOST:5173")
			}
			if w.Code != c.status ||
				!maps.EqualFunc(w.Result().Header, want, func(a, b []string) bool {
					return strings.Join(a, "|") == strings.Join(b, "|")
				}) {
				t.Errorf("%d %v, want %d %v", w.Code, w.Result().Header, c.status, want)
			}
		})
	}
}

// A page must be able to read why it was refused. Its preflight request, which carries no token, needs none. The Host
// that it uses is checked first.
func TestCORSOfRefusals(t *testing.T) {
	t.Parallel()
	guard := auth.Guard(auth.Options{BoundHost: "127.0.0.1", AllowedOrigins: []string{"http://localhost:5173"},
		Token: token})
	ask := func(method, host string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/api/sessions", nil)
		r.Host = host
		r.Header.Set("Origin", "http://localhost:5173")
		r.Header.Set("Access-Control-Request-Method", "POST")
		w := httptest.NewRecorder()
		guard(http.NotFoundHandler()).ServeHTTP(w, r)
		return w
	}
	if got := ask("GET", "127.0.0.1:3001"); got.Code != 401 ||
		got.Header().Get("Access-Control-Allow-Origin") != "http://localhost:5173" {
		t.Errorf("without a token: %d %v", got.Code, got.Header())
	}
	if got := ask("OPTIONS", "127.0.0.1:3001"); got.Code != 204 {
		t.Errorf("preflight: %d %v", got.Code, got.Header())
	}
	if got := ask("OPTIONS", "attacker.example:3001"); got.Code != 403 ||
		got.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("under another name: %d %v", got.Code, got.Header())
	}
}
