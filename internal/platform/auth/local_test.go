package auth_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/internal/platform/auth"
)

const ownersToken = auth.OwnerPrefix + "0123456789abcdef"

// ownersOne accepts the owner's token.
type ownersOne struct{ access context.Context }

func (o ownersOne) Find(secret string) (context.Context, bool) {
	return o.access, secret == ownersToken
}

func distrusted() (bool, string) { return false, "the test says so" }

func TestLoopbackThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	open := auth.Options{BoundHost: "127.0.0.1", TrustLocal: distrusted, Owner: ownersOne{t.Context()}}
	run(t, open, []request{
		{"no token", "GET", "/api/sessions", nil, "", 401, "unauthorized"},
		{"a write", "POST", "/api/sessions", nil, "", 401, "unauthorized"},
		{"the stream", "GET", "/api/stream", []string{"Upgrade: websocket"}, "", 401, "unauthorized"},
		{"rpc", "POST", "/rpc", nil, "", 401, "unauthorized"},
		{"v1", "POST", "/v1/tasks", nil, "", 401, "unauthorized"},
		{"an extension route", "GET", "/api/agents/extensions", nil, "", 401, "unauthorized"},
		{"health", "GET", "/api/health", nil, "", 200, ""},
		{"a probe", "GET", "/readyz", nil, "", 200, ""},
		{"login", "POST", "/api/login", nil, "", 200, ""},
		{"the owner's", "GET", "/api/sessions", []string{"Authorization: Bearer " + ownersToken}, "", 200, ""},
		{"the owner's for the stream", "GET", "/api/stream?access_token=" + ownersToken, []string{"Upgrade: websocket"}, "", 200, ""},
		{"the owner's in a subprotocol", "GET", "/api/stream",
			[]string{"Upgrade: websocket", "Sec-WebSocket-Protocol: bearer." + ownersToken}, "", 200, ""},
		{"the owner's for an extension route", "GET", "/api/agents/extensions", []string{"X-Harness-Token: " + ownersToken}, "", 200, ""},
		{"another one", "GET", "/api/sessions", []string{"Authorization: Bearer hro_other"}, "", 401, "unauthorized"},
	})
}

// An invalid owner's token grants no rights, even where no token is needed; a valid one makes the caller the owner.
func TestOwnersTokenOnTrustedLoopback(t *testing.T) {
	t.Parallel()
	rules := auth.Options{BoundHost: "127.0.0.1", Owner: ownersOne{t.Context()}}
	show := func(secret string) (int, *auth.Principal) {
		status, _, principal := request{method: "GET", path: "/api/sessions", headers: []string{"Authorization: Bearer " + secret}}.send(rules)
		return status, principal
	}
	if status, _ := show("hro_old"); status != http.StatusUnauthorized {
		t.Errorf("an old token: %d", status)
	}
	if status, who := show(ownersToken); status != http.StatusOK || who.Role != auth.RoleOwner {
		t.Errorf("the owner's: %d %v", status, who)
	}
	rules.Token = token
	if status, who := show(ownersToken); status != http.StatusOK || who.Role != auth.RoleOwner {
		t.Errorf("the owner's beside HARNESS_AUTH_TOKEN: %d %v", status, who)
	}
}

func TestUntrustedLoopbackExplainsHowToAuthenticate(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	guarded := auth.Guard(auth.Options{BoundHost: "127.0.0.1", TrustLocal: distrusted})(http.NotFoundHandler())
	guarded.ServeHTTP(w, from("127.0.0.1:1"))
	for _, want := range []string{"the test says so", "`harness open`", "`harness token`", "HARNESS_TRUST_LOCAL=true"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the 401 does not say %s: %s", want, w.Body)
		}
	}
}

// A program on this machine comes from it by each of its addresses, even if a proxy in front admits others.
func TestUntrustedMachineByItsOtherAddresses(t *testing.T) {
	t.Parallel()
	guarded := auth.Guard(auth.Options{BoundHost: "0.0.0.0", TrustLocal: distrusted})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	send := func(address string) int {
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, from(address))
		return w.Code
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		ip := address.(*net.IPNet).IP.String()
		if status := send(net.JoinHostPort(ip, "1")); status != http.StatusUnauthorized {
			t.Errorf("%s gets %d", ip, status)
		}
	}
	if status := send("192.0.2.1:1"); status != http.StatusOK {
		t.Errorf("another machine gets %d", status)
	}
}

// Connections opened with the owner's token end with it.
func TestOwnersAccessEnds(t *testing.T) {
	t.Parallel()
	access, renew := context.WithCancel(t.Context())
	var seen context.Context
	guarded := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Owner: ownersOne{access}})(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = auth.AccessFrom(r.Context()) }))
	r := from("127.0.0.1:1")
	r.Header.Set("Authorization", "Bearer "+ownersToken)
	guarded.ServeHTTP(httptest.NewRecorder(), r)
	if seen == nil || seen.Err() != nil {
		t.Fatalf("access is %v", seen)
	}
	if renew(); seen.Err() == nil {
		t.Error("access outlives the token")
	}
}
