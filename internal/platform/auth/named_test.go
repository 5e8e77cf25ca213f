package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"harness/internal/platform/auth"
)

// named is a server's only valid token, and whether there were others.
type named struct {
	secret string
	access context.Context
	any    bool
}

func (n named) Find(secret string) (auth.Principal, context.Context, bool) {
	return auth.Principal{Actor: "token:ann", Role: auth.RoleMember, TokenID: "1"}, n.access, secret == n.secret
}

func (n named) Any() bool { return n.any }

// A named token works wherever the owner's does, and its holder gets only the token's rights. Without an owner's token,
// callers from this machine need no token, as before. Other machines need one as soon as one has existed.
func TestGuardKnowsNamedTokens(t *testing.T) {
	t.Parallel()
	const good, bad, local, remote = "hrn_good", "hrn_revoked", "127.0.0.1:5", "10.0.0.9:5"
	upgrade := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket"}
	with := func(more ...string) map[string]string {
		headers := map[string]string{}
		for i := 0; i < len(more); i += 2 {
			headers[more[i]] = more[i+1]
		}
		return headers
	}
	socket := func(more ...string) map[string]string {
		headers := with(more...)
		for name, value := range upgrade {
			headers[name] = value
		}
		return headers
	}
	for name, c := range map[string]struct {
		owner   string
		none    bool // there never was a named token
		peer    string
		target  string
		headers map[string]string
		actor   string // "" is 401
	}{
		"header":         {token, false, remote, "/api/sessions", with("Authorization", "Bearer "+good), "token:ann"},
		"second header":  {token, false, remote, "/api/sessions", with("X-Harness-Token", good), "token:ann"},
		"stream's query": {token, false, remote, "/api/stream?access_token=" + good, socket(), "token:ann"},
		"subprotocol": {token, false, remote, "/rpc", socket("Sec-WebSocket-Protocol", "jsonrpc, bearer."+good),
			"token:ann"},
		"query elsewhere":  {token, false, remote, "/api/sessions?access_token=" + good, nil, ""},
		"owner":            {token, false, remote, "/api/sessions", with("Authorization", "Bearer "+token), "token"},
		"revoked":          {token, false, local, "/api/sessions", with("Authorization", "Bearer "+bad), ""},
		"none":             {token, false, local, "/api/sessions", nil, ""},
		"revoked, health":  {token, false, local, "/api/health", with("Authorization", "Bearer "+bad), "anonymous"},
		"local":            {"", false, local, "/api/sessions", nil, "local"},
		"local with one":   {"", false, local, "/api/sessions", with("Authorization", "Bearer "+good), "token:ann"},
		"local, revoked":   {"", false, local, "/api/sessions", with("Authorization", "Bearer "+bad), ""},
		"local, stream":    {"", false, local, "/api/stream?access_token=" + bad, socket(), ""},
		"local, other":     {"", false, local, "/api/sessions", with("Authorization", "Bearer something"), "local"},
		"remote":           {"", false, remote, "/api/sessions", nil, ""},
		"remote, health":   {"", false, remote, "/api/health", nil, "anonymous"},
		"remote with one":  {"", false, remote, "/api/sessions", with("Authorization", "Bearer "+good), "token:ann"},
		"remote as before": {"", true, remote, "/api/sessions", nil, "remote"},
		"never a named":    {"", true, local, "/api/sessions", with("Authorization", "Bearer "+bad), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			access, withdraw := context.WithCancel(t.Context())
			defer withdraw()
			var principal auth.Principal
			var accessCtx context.Context
			guard := auth.Guard(auth.Options{Token: c.owner, Named: named{good, access, !c.none}})(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					principal, _ = auth.PrincipalFrom(r.Context())
					accessCtx = auth.AccessFrom(r.Context())
				}))
			r := httptest.NewRequest(http.MethodGet, c.target, nil)
			r.Host, r.RemoteAddr = "localhost", c.peer
			for name, value := range c.headers {
				r.Header.Set(name, value)
			}
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			if principal.Actor != c.actor || (w.Code == http.StatusUnauthorized) != (c.actor == "") {
				t.Fatalf("%d %+v, want %q", w.Code, principal, c.actor)
			}
			if c.actor == "" {
				return
			}
			withdraw()
			if ends := accessCtx.Err() != nil; ends != (c.actor == "token:ann") {
				t.Errorf("its access ends: %t", ends)
			}
		})
	}
}
