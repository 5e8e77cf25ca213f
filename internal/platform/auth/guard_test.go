package auth_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"harness/internal/platform/auth"
)

const token = "0123456789-abcdef"

// request is one row of a table: a request and its expected answer.
type request struct {
	name    string
	method  string
	path    string
	headers []string // "Name: value"
	host    string
	want    int
	code    string
}

// send runs the request through the guard; the body is "reached" or the error code.
func (c request) send(o auth.Options) (int, string, *auth.Principal) {
	var principal *auth.Principal
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := auth.PrincipalFrom(r.Context()); ok {
			principal = &p
		}
		_, _ = w.Write([]byte(`{"code":""}`))
	})
	r := httptest.NewRequest(c.method, c.path, nil)
	r.Host = "127.0.0.1:3001"
	r.RemoteAddr = "127.0.0.1:55555"
	if c.host != "" {
		r.Host = c.host
	}
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	auth.Guard(o)(next).ServeHTTP(w, r)
	var body struct{ Status, Code, Message string }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		return w.Code, "not JSON: " + w.Body.String(), principal
	}
	if body.Code != "" &&
		(body.Status != "error" || body.Message == "" ||
			w.Header().Get("Content-Type") != "application/json; charset=utf-8") {
		return w.Code, "bad envelope: " + w.Body.String(), principal
	}
	return w.Code, body.Code, principal
}

func run(t *testing.T, o auth.Options, cases []request) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, code, principal := c.send(o)
			if status != c.want || code != c.code {
				t.Errorf("%s %s %q: %d %s, want %d %s", c.method, c.path, c.headers, status, code, c.want, c.code)
			}
			if (principal != nil) != (c.code == "") {
				t.Errorf("principal %v with code %q", principal, c.code)
			}
		})
	}
}

// Foreign hosts and origins are refused by the middleware, on REST and on the stream.
func TestGuardHostAndOrigin(t *testing.T) {
	t.Parallel()
	foreign := []string{"Origin: https://attacker.example"}
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket"}
	run(t, auth.Options{BoundHost: "127.0.0.1", AllowedOrigins: []string{"https://ui.example"}}, []request{
		{name: "no origin post", method: "POST", path: "/api/sessions", want: 200},
		{name: "own origin post", method: "POST", path: "/api/sessions", headers: []string{"Origin: http://127.0.0.1:3001"},
			want: 200},
		{name: "listed origin post", method: "POST", path: "/api/sessions", headers: []string{"Origin: https://ui.example"},
			want: 200},
		{name: "foreign get passes", method: "GET", path: "/api/sessions", headers: foreign, want: 200},
		{name: "own stream", method: "GET", path: "/api/stream",
			headers: append([]string{"Origin: http://127.0.0.1:3001"}, upgrade...), want: 200},
		{name: "stream without origin", method: "GET", path: "/api/stream", headers: upgrade, want: 200},
		{name: "same-origin fetch", method: "POST", path: "/api/sessions", headers: []string{"Sec-Fetch-Site: same-origin"},
			want: 200},

		{name: "rebound host", method: "GET", path: "/api/sessions", host: "attacker.example:3001", want: 403,
			code: "forbidden_host"},
		{name: "rebound host and origin", method: "POST", path: "/api/sessions", host: "attacker.example:3001",
			headers: []string{"Origin: http://attacker.example:3001"}, want: 403, code: "forbidden_host"},
		{name: "rebound documentation", method: "GET", path: "/api/docs", host: "attacker.example:3001", want: 403,
			code: "forbidden_host"},
		{name: "foreign post", method: "POST", path: "/api/sessions", headers: foreign, want: 403, code: "forbidden_origin"},
		{name: "foreign put", method: "PUT", path: "/api/x", headers: foreign, want: 403, code: "forbidden_origin"},
		{name: "foreign delete", method: "DELETE", path: "/api/x", headers: foreign, want: 403, code: "forbidden_origin"},
		{name: "foreign made-up method", method: "FROB", path: "/api/x", headers: foreign, want: 403,
			code: "forbidden_origin"},
		{name: "foreign connect", method: "CONNECT", path: "/api/stream", headers: foreign, want: 403,
			code: "forbidden_origin"},
		{name: "null post", method: "POST", path: "/api/sessions", headers: []string{"Origin: null"}, want: 403,
			code: "forbidden_origin"},
		{name: "empty origin", method: "POST", path: "/api/sessions", headers: []string{"Origin: "}, want: 403,
			code: "forbidden_origin"},
		{name: "two origins", method: "POST", path: "/api/sessions",
			headers: []string{"Origin: http://127.0.0.1:3001", "Origin: https://attacker.example"}, want: 403,
			code: "forbidden_origin"},
		{name: "cross-site without origin", method: "POST", path: "/api/sessions",
			headers: []string{"Sec-Fetch-Site: cross-site"}, want: 403, code: "forbidden_origin"},
		{name: "foreign stream", method: "GET", path: "/api/stream", headers: append(foreign, upgrade...), want: 403,
			code: "forbidden_origin"},
		{name: "foreign stream without upgrade", method: "GET", path: "/api/stream", headers: foreign, want: 403,
			code: "forbidden_origin"},
		{name: "foreign stream spelt", method: "GET", path: "/api/%73tream", headers: foreign, want: 403,
			code: "forbidden_origin"},
		{name: "foreign upgrade elsewhere", method: "GET", path: "/api/health", headers: append(foreign, upgrade...),
			want: 403, code: "forbidden_origin"},
		{name: "null stream", method: "GET", path: "/api/stream", headers: append([]string{"Origin: null"}, upgrade...),
			want: 403, code: "forbidden_origin"},
		{name: "other port stream", method: "GET", path: "/api/stream",
			headers: append([]string{"Origin: http://127.0.0.1:5173"}, upgrade...), want: 403, code: "forbidden_origin"},
		{name: "other scheme stream", method: "GET", path: "/api/stream",
			headers: append([]string{"Origin: https://127.0.0.1:3001"}, upgrade...), want: 403, code: "forbidden_origin"},
		{name: "suffix stream", method: "GET", path: "/api/stream",
			headers: append([]string{"Origin: http://127.0.0.1:3001.attacker.example"}, upgrade...), want: 403,
			code: "forbidden_origin"},
	})
}

func TestGuardToken(t *testing.T) {
	t.Parallel()
	bearer := "Authorization: Bearer " + token
	ws := []string{"Connection: Upgrade", "Upgrade: websocket"}
	run(t, auth.Options{BoundHost: "0.0.0.0", Token: token}, []request{
		{name: "bearer", method: "POST", path: "/api/sessions", headers: []string{bearer}, want: 200},
		{name: "bearer lower case", method: "GET", path: "/api/sessions",
			headers: []string{"Authorization: bearer   " + token}, want: 200},
		{name: "own header", method: "GET", path: "/api/sessions",
			headers: []string{"X-Harness-Token: " + token, "Authorization: Bearer some.jwt.here"}, want: 200},
		{name: "health", method: "GET", path: "/api/health", want: 200},
		{name: "health head", method: "HEAD", path: "/api/health", want: 200},
		{name: "ready", method: "GET", path: "/readyz", want: 200},
		{name: "alive", method: "GET", path: "/healthz", want: 200},
		{name: "ready below api", method: "GET", path: "/api/ready", want: 200},
		{name: "documentation", method: "GET", path: "/api/docs", want: 200},
		{name: "its document", method: "GET", path: "/api/openapi.json", want: 200},
		{name: "readiness by POST", method: "POST", path: "/api/ready", want: 401, code: "unauthorized"},
		{name: "stream by header", method: "GET", path: "/api/stream", headers: append([]string{bearer}, ws...), want: 200},
		{name: "stream by query", method: "GET", path: "/api/stream?access_token=" + token, headers: ws, want: 200},

		{name: "none", method: "GET", path: "/api/sessions", want: 401, code: "unauthorized"},
		{name: "none on root", method: "GET", path: "/", want: 401, code: "unauthorized"},
		{name: "none on metrics", method: "GET", path: "/metrics", want: 401, code: "unauthorized"},
		{name: "double slash", method: "GET", path: "http://h//api/sessions", want: 401, code: "unauthorized"},
		{name: "wrong", method: "GET", path: "/api/sessions", headers: []string{bearer + "x"}, want: 401,
			code: "unauthorized"},
		{name: "prefix", method: "GET", path: "/api/sessions", headers: []string{bearer[:len(bearer)-1]}, want: 401,
			code: "unauthorized"},
		{name: "empty bearer", method: "GET", path: "/api/sessions", headers: []string{"Authorization: Bearer "}, want: 401,
			code: "unauthorized"},
		{name: "basic", method: "GET", path: "/api/sessions", headers: []string{"Authorization: Basic " + token}, want: 401,
			code: "unauthorized"},
		{name: "bare", method: "GET", path: "/api/sessions", headers: []string{"Authorization: " + token}, want: 401,
			code: "unauthorized"},
		{name: "two headers", method: "GET", path: "/api/sessions", headers: []string{bearer, "Authorization: Bearer other"},
			want: 401, code: "unauthorized"},
		{name: "query on rest", method: "GET", path: "/api/sessions?access_token=" + token, want: 401, code: "unauthorized"},
		{name: "query on stream without upgrade", method: "GET", path: "/api/stream?access_token=" + token, want: 401,
			code: "unauthorized"},
		{name: "query twice", method: "GET", path: "/api/stream?access_token=x&access_token=" + token, headers: ws, want: 401,
			code: "unauthorized"},
		{name: "stream without", method: "GET", path: "/api/stream", headers: ws, want: 401, code: "unauthorized"},
		{name: "health post", method: "POST", path: "/api/health", want: 401, code: "unauthorized"},
		{name: "health upgrade", method: "GET", path: "/api/health", headers: ws, want: 401, code: "unauthorized"},
		{name: "health slash", method: "GET", path: "/api/health/", want: 401, code: "unauthorized"},
		{name: "token does not excuse a foreign origin", method: "POST", path: "/api/sessions",
			headers: []string{bearer, "Origin: null"}, want: 403, code: "forbidden_origin"},
	})
}

func TestPrincipals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, token, peer, header string
		want                      auth.Principal
	}{
		{"loopback without token", "", "127.0.0.1:9", "", auth.Principal{Actor: "local", Role: auth.RoleAdmin}},
		{"remote without token", "", "10.0.0.9:9", "", auth.Principal{Actor: "remote", Role: auth.RoleAdmin}},
		{"health without its token", token, "10.0.0.9:9", "", auth.Principal{Actor: "anonymous", Role: auth.RoleMember}},
		{"token", token, "10.0.0.9:9", "Bearer " + token, auth.Principal{Actor: "token", Role: auth.RoleOwner}},
		{"forwarded-for is not believed", "", "10.0.0.9:9", "", auth.Principal{Actor: "remote", Role: auth.RoleAdmin}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got auth.Principal
			h := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: c.token})(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					got, _ = auth.PrincipalFrom(r.Context())
				}))
			r := httptest.NewRequest(http.MethodGet, "/api/health", nil)
			r.Host, r.RemoteAddr = "127.0.0.1", c.peer
			r.Header.Set("X-Forwarded-For", "127.0.0.1")
			if c.header != "" {
				r.Header.Set("Authorization", c.header)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != c.want {
				t.Errorf("principal = %+v, want %+v", got, c.want)
			}
		})
	}
	if _, ok := auth.PrincipalFrom(context.Background()); ok {
		t.Error("a context outside of a request has a principal")
	}
	if !auth.RoleSystem.Valid() || auth.Role("Admin").Valid() || auth.Role("").Valid() {
		t.Error("Valid knows other roles than the four")
	}
}

// People read a refusal in terminals, so its characters are not escaped as markup.
func TestARefusalIsNotEscaped(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: token})(http.NotFoundHandler()).
		ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/sessions", nil))
	const want = `{"status":"error","code":"unauthorized","message":"a valid access token is required: send Authorization: ` +
		`Bearer <HARNESS_AUTH_TOKEN>"}`
	if got := answer.Body.String(); answer.Code != http.StatusUnauthorized || got != want {
		t.Errorf("%d %s, want %s", answer.Code, got, want)
	}
}

func TestQueryTokenIsRemovedFromTheURL(t *testing.T) {
	t.Parallel()
	var url, uri string
	h := auth.Guard(auth.Options{Token: token})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		url, uri = r.URL.String(), r.RequestURI
	}))
	r := httptest.NewRequest(http.MethodGet, "/api/stream?threadId=b%20&access%5Ftoken="+token+"&threadId=a", nil)
	r.Host = "localhost"
	r.Header.Set("Upgrade", "websocket")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if want := "/api/stream?threadId=b%20&threadId=a"; url != want || uri != want {
		t.Errorf("URL %q, RequestURI %q, want %q", url, uri, want)
	}
}

func TestTLSMakesTheOwnSchemeHTTPS(t *testing.T) {
	t.Parallel()
	h := auth.Guard(auth.Options{})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for origin, want := range map[string]int{"https://localhost": 200, "http://localhost": 403} {
		r := httptest.NewRequest(http.MethodPost, "/api/sessions", nil)
		r.Host, r.TLS = "localhost", &tls.ConnectionState{}
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", origin, w.Code, want)
		}
	}
}

// On a real socket, the refusal must come before the upgrade: no 101.
func TestRefusedBeforeUpgradeOnARealSocket(t *testing.T) {
	t.Parallel()
	upgraded := make(chan string, 16)
	server := httptest.NewServer(
		auth.Guard(auth.Options{BoundHost: "127.0.0.1"})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			upgraded <- r.Header.Get("Origin")
			c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
			if err == nil {
				_ = c.Close(websocket.StatusNormalClosure, "")
			}
		})))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]int{
		"":                                   101,
		server.URL:                           101,
		"null":                               403,
		"https://attacker.example":           403,
		"http://localhost:" + port:           403,
		"http://127.0.0.1:" + port + ".evil": 403,
		"https://127.0.0.1:" + port:          403,
		"http://127.0.0.1.attacker.example:" + port: 403,
	} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		c, resp, err := websocket.Dial(ctx, server.URL+"/api/stream", &websocket.DialOptions{HTTPHeader: header})
		if resp == nil || resp.StatusCode != want {
			t.Errorf("origin %q: response %v (%v), want %d", origin, resp, err, want)
		}
		if c != nil {
			_ = c.CloseNow()
		}
	}
	close(upgraded)
	var got []string
	for o := range upgraded {
		got = append(got, o)
	}
	slices.Sort(got)
	if want := []string{"", server.URL}; !slices.Equal(got, want) {
		t.Errorf("the handler was reached by %q, want %q", got, want)
	}
}
