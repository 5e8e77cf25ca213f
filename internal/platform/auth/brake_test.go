package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/auth"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func from(address string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/sessions", nil)
	r.Host, r.RemoteAddr = "127.0.0.1:3001", address
	return r
}

func TestBrakeCountsAddresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		guesser, other string
		braked         bool
	}{
		"the same address":          {"192.0.2.1:1", "192.0.2.1:2", true},
		"another address":           {"192.0.2.1:1", "192.0.2.2:1", false},
		"the same /64":              {"[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		"another /64":               {"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		"IPv4 mapped":               {"[::ffff:192.0.2.1]:1", "192.0.2.1:1", true},
		"loopback is one":           {"127.0.0.1:1", "127.9.9.9:1", true},
		"loopback of both families": {"127.0.0.1:1", "[::1]:1", true},
		"no address is one":         {"@", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &clock{now: time.Unix(1_800_000_000, 0)}
			brake := auth.NewBrake(clock.Now)
			for n := range 10 {
				if brake.Braked(from(c.guesser)) {
					t.Fatalf("braked after %d guesses", n)
				}
				brake.Wrong(from(c.guesser))
			}
			if !brake.Braked(from(c.guesser)) || brake.Braked(from(c.other)) != c.braked {
				t.Errorf("%s is braked: %t, %s: %t, want %t", c.guesser, brake.Braked(from(c.guesser)), c.other,
					brake.Braked(from(c.other)), c.braked)
			}
			clock.pass(999 * time.Millisecond)
			if !brake.Braked(from(c.guesser)) {
				t.Error("the brake ends before its second")
			}
			clock.pass(time.Millisecond)
			if brake.Braked(from(c.guesser)) {
				t.Error("the brake does not end")
			}
		})
	}
}

// Many new addresses replace the oldest, and use no more memory.
func TestBrakeForgetsTheOldest(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Unix(1_800_000_000, 0)}
	brake := auth.NewBrake(clock.Now)
	guess := func(address string) {
		for range 10 {
			brake.Wrong(from(address))
		}
	}
	guess("192.0.2.1:1")
	guess("192.0.2.2:1")
	for n := range 4095 {
		guess(fmt.Sprintf("10.0.%d.%d:1", n/256, n%256))
	}
	if brake.Braked(from("192.0.2.1:1")) {
		t.Error("the oldest of 4,097 addresses is remembered")
	}
	if !brake.Braked(from("192.0.2.2:1")) || !brake.Braked(from("10.0.15.254:1")) {
		t.Error("an address that is not the oldest is forgotten")
	}
}

// The guard checks the limit before it compares: a correct token that a person chose is refused like a wrong one.
// Tokens made by a server stay valid, and requests that need no token are answered.
func TestGuardBrakesGuesses(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Unix(1_800_000_000, 0)}
	codes := map[string]int{}
	rules := auth.Options{BoundHost: "127.0.0.1", Token: token, Owner: ownersOne{t.Context()}, Brake: auth.NewBrake(clock.Now),
		Refused: func(code string) { codes[code]++ }}
	guarded := auth.Guard(rules)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	send := func(path, token string) *httptest.ResponseRecorder {
		r := from("127.0.0.1:1")
		r.URL.Path = path
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		return w
	}
	for range 10 {
		if w := send("/api/sessions", "wrong"); w.Code != http.StatusUnauthorized {
			t.Fatalf("a guess: %d", w.Code)
		}
	}
	if w := send("/api/sessions", ownersToken); w.Code != http.StatusOK {
		t.Errorf("the owner's token while braked: %d", w.Code)
	}
	for _, shown := range []string{"wrong", token, "hro_wrong", "hrn_wrong"} {
		if w := send("/api/sessions", shown); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s while braked: %d %v", shown, w.Code, w.Header())
		}
	}
	if w := send("/api/sessions", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("no token while braked: %d", w.Code)
	}
	if w := send("/api/health", "wrong"); w.Code != http.StatusOK {
		t.Errorf("health while braked: %d", w.Code)
	}
	logins := auth.NewLogins(rules, "/")
	if _, _, refusal := logins.Open(from("127.0.0.1:1"), token); refusal == nil || refusal.Code != auth.TooManyGuesses {
		t.Errorf("a login while braked: %v", refusal)
	}
	if _, _, refusal := logins.Open(from("127.0.0.1:1"), ownersToken); refusal != nil {
		t.Errorf("a login by the owner's token while braked: %v", refusal)
	}
	clock.pass(time.Second)
	if w := send("/api/sessions", token); w.Code != http.StatusOK {
		t.Errorf("the right token a second later: %d", w.Code)
	}
	if codes[auth.TooManyGuesses] != 4 || codes["unauthorized"] != 11 {
		t.Errorf("refused: %v", codes)
	}
	for range 10 {
		if _, _, refusal := logins.Open(from("127.0.0.1:1"), "wrong"); refusal == nil || refusal.HTTPStatus != http.StatusUnauthorized {
			t.Fatalf("a wrong login: %v", refusal)
		}
	}
	if w := send("/api/sessions", token); w.Code != http.StatusTooManyRequests {
		t.Errorf("wrong logins do not count: %d", w.Code)
	}
}

// If no token is set, no request is refused for its token, so none is counted.
func TestTrustedLoopbackIsNotBraked(t *testing.T) {
	t.Parallel()
	guarded := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Brake: auth.NewBrake(nil)})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 30 {
		r := from("127.0.0.1:1")
		r.Header.Set("Authorization", "Bearer whatever")
		w := httptest.NewRecorder()
		if guarded.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d", w.Code)
		}
	}
}

// Guesses of the extension routes' own tokens have the same limit.
func TestRBACBrakesGuesses(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Unix(1_800_000_000, 0)}
	rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACHeader, HeaderSecret: "the-shared-secret", Brake: auth.NewBrake(clock.Now)})
	authorize := func(secret string) string {
		r := from("192.0.2.1:1")
		r.Header.Set("X-Codex-Rbac-Token", secret)
		r.Header.Set("X-Codex-Role", "admin")
		if _, refusal := rules.Authorize(r, auth.RoleAdmin); refusal != nil {
			return refusal.Code
		}
		return ""
	}
	for range 10 {
		if code := authorize("wrong"); code != "invalid_header_token" {
			t.Fatal(code)
		}
	}
	if code := authorize("the-shared-secret"); code != auth.TooManyGuesses {
		t.Errorf("the right token while braked: %q", code)
	}
	clock.pass(time.Second)
	if code := authorize("the-shared-secret"); code != "" {
		t.Errorf("the right token a second later: %q", code)
	}
}
