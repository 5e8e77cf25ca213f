package login

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"harness/internal/platform/database"
	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// socket opens a stream as a logged-in browser. closed closes when the stream does.
func socket(t *testing.T, browser *http.Client, address string) (closed <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	conn, _, err := websocket.Dial(ctx, address+"/api/stream", &websocket.DialOptions{HTTPClient: browser})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = conn.CloseNow()
		<-over
	})
	return over
}

func awaitClosed(t *testing.T, what string, closed <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience/3)
	defer cancel()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Fatalf("%s: its socket is not closed", what)
	}
}

// When a login ends at its provider or in its browser, it ends immediately on every server of the store, with its
// sockets. Other logins continue.
func TestLoginsEndEverywhere(t *testing.T) {
	t.Parallel()
	address, to := front(t)
	provider := oidctest.Start(t, oidctest.Config{Clients: []map[string]any{client("harness", address, "corp")}})
	file := providers(t, map[string]any{"name": "corp", "issuer": provider.URL, "clientId": "harness", "clientSecretFile": "secret",
		"defaultRole": "operator"})
	env := programtest.WithEnv("HARNESS_AUTH_TOKEN="+ownersToken, "HARNESS_OIDC_FILE="+file)
	site := programtest.New(t, programtest.WithoutAgent(), programtest.WithEngine(database.Postgres), env)
	first, second := site.Start(), programtest.New(t, programtest.WithoutAgent(), programtest.WithDatabaseOf(site), env).Start()
	to(first)
	ann, bob := oidctest.Browser(t), oidctest.Browser(t)
	for name, browser := range map[string]*http.Client{"ann": ann, "bob": bob} {
		status, page := logIn(provider, browser, address, "corp", name)
		if got, who := me(t, browser, address); got != http.StatusOK || who["actor"] != "oidc:corp:"+name {
			t.Fatalf("%s is %d %v after %d %s", name, got, who, status, page)
		}
	}
	to(second) // the other node, at the same address
	for _, browser := range []*http.Client{ann, bob} {
		first.Eventually("the other node knows the login", func() bool {
			status, _ := me(t, browser, address)
			return status == http.StatusOK
		})
	}
	anns, bobs := socket(t, ann, address), socket(t, bob, address)
	to(first)
	provider.Logout("harness", "ann")
	awaitClosed(t, "ended at the provider", anns)
	if status, who := me(t, ann, address); status != http.StatusUnauthorized || !strings.Contains(who["message"].(string), "sign in again") {
		t.Errorf("ann is %d %v", status, who)
	}
	select {
	case <-bobs:
		t.Error("another one's socket is closed, too")
	default:
	}
	// Logging out ends the login itself, not only the cookie.
	copied := oidctest.Browser(t)
	home, err := http.NewRequest(http.MethodGet, address, nil) //nolint:noctx // for its URL
	if err != nil {
		t.Fatal(err)
	}
	copied.Jar.SetCookies(home.URL, bob.Jar.Cookies(home.URL))
	if status, _ := me(t, copied, address); status != http.StatusOK {
		t.Fatalf("the copy of a cookie is answered %d", status)
	}
	answer, err := bob.Post(address+"/api/logout", "application/json", strings.NewReader(`{}`)) //nolint:noctx // the server is bounded by the test
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("log out: %v %v", answer, err)
	}
	_ = answer.Body.Close()
	awaitClosed(t, "logged out", bobs)
	if status, _ := me(t, copied, address); status != http.StatusUnauthorized {
		t.Errorf("after logging out a copy of the cookie is answered %d", status)
	}
	for _, kind := range []string{"login.began", "login.ended"} {
		if out := site.MustRun("audit", "export"); strings.Count(out, `"`+kind+`"`) != 2 || strings.Contains(out, "hrs_") {
			t.Errorf("the audit log has not two of %s: %s", kind, out)
		}
	}
	first.Stop()
	second.Stop()
}

// Only a valid logout token of the provider ends logins.
func TestForgedLogouts(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	server := start(t, providers(t, map[string]any{"name": "made", "issuer": issuer.URL, "clientId": "harness", "defaultRole": "viewer"}))
	event := map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}
	for name, c := range map[string]struct {
		claims map[string]any
		status int
	}{
		"right":           {map[string]any{"events": event, "jti": "1"}, http.StatusOK},
		"an ID token":     {map[string]any{"jti": "1"}, http.StatusBadRequest},
		"with a nonce":    {map[string]any{"events": event, "jti": "1", "nonce": "n"}, http.StatusBadRequest},
		"another event":   {map[string]any{"events": map[string]any{"a": map[string]any{}}, "jti": "1"}, http.StatusBadRequest},
		"without whom":    {map[string]any{"events": event, "jti": "1", "sub": nil}, http.StatusBadRequest},
		"without an id":   {map[string]any{"events": event}, http.StatusBadRequest},
		"another client":  {map[string]any{"events": event, "jti": "1", "aud": "another"}, http.StatusBadRequest},
		"another issuer":  {map[string]any{"events": event, "jti": "1", "iss": "https://other.example"}, http.StatusBadRequest},
		"expired already": {map[string]any{"events": event, "jti": "1", "exp": 1}, http.StatusBadRequest},
	} {
		body := "logout_token=" + issuer.Sign(issuer.Claims("harness", c.claims))
		answer, err := http.Post(server.URL+"/api/login/oidc/made/backchannel-logout", "application/x-www-form-urlencoded", //nolint:noctx // the same
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != c.status || answer.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", name, answer.StatusCode, answer.Header)
		}
	}
	server.Stop()
}
