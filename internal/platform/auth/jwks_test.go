package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

// issuer publishes keys over HTTP, and can be down.
type issuer struct {
	*httptest.Server

	mu    sync.Mutex
	keys  []map[string]any
	down  bool
	asked int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.asked++; i.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": i.keys})
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) publish(keys ...map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

func (i *issuer) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ecKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func published(t *testing.T, id string, key any) map[string]any {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return map[string]any{"kty": "RSA", "kid": id, "use": "sig", "n": text(key.N.Bytes()), "e": text([]byte{1, 0, 1})}
	case *ecdsa.PrivateKey:
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		half := (len(point) - 1) / 2
		return map[string]any{"kty": "EC", "crv": key.Params().Name, "kid": id, "x": text(point[1 : 1+half]),
			"y": text(point[1+half:])}
	}
	t.Fatalf("%T", key)
	return nil
}

// Tokens signed with RS256 and ES256 are checked with the issuer's published keys, each algorithm with its own kind of
// key. A new key counts at once, a removed one no longer counts, and none counts while the issuer cannot be reached.
func TestTokensAreCheckedWithTheKeysOfTheIssuer(t *testing.T) {
	t.Parallel()
	const role = "admin"
	one, next, small := rsaKey(t, 2048), rsaKey(t, 2048), rsaKey(t, 1024)
	curve, other := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P384())
	i := newIssuer(t)
	i.publish(published(t, "one", one), published(t, "curve", curve), published(t, "small", small),
		published(t, "other", other), map[string]any{"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
		map[string]any{"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"})
	now := rbacNow()
	clock := func() time.Time { return now }
	rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: jwtSecret, JWTKeys: auth.NewKeySet(i.URL, clock),
		Clock: clock})
	claims := map[string]any{"sub": "ci", "role": role, "exp": now.Add(100 * time.Hour).Unix()}
	token := func(method jwt.SigningMethod, key any, id string) string {
		header := map[string]any{}
		if id != "" {
			header["kid"] = id
		}
		return signed(t, method, key, claims, header)
	}
	check := func(what, token string, status int) {
		t.Helper()
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		principal, refusal := rules.Authorize(request, auth.RoleAdmin)
		got := http.StatusOK
		if refusal != nil {
			got = refusal.HTTPStatus
		} else if principal.Actor != "ci" {
			t.Errorf("%s: the actor is %q", what, principal.Actor)
		}
		if got != status {
			t.Errorf("%s: %d, want %d (%v)", what, got, status, refusal)
		}
	}
	const ok, no = http.StatusOK, http.StatusUnauthorized
	check("RS256", token(jwt.SigningMethodRS256, one, "one"), ok)
	check("RS256 without kid", token(jwt.SigningMethodRS256, one, ""), ok)
	check("ES256", token(jwt.SigningMethodES256, curve, "curve"), ok)
	check("HS256 with the secret", token(jwt.SigningMethodHS256, []byte(jwtSecret), ""), ok)
	check("the wrong key", token(jwt.SigningMethodRS256, next, "one"), no)
	check("another's kid", token(jwt.SigningMethodRS256, one, "curve"), no)
	check("RS512", token(jwt.SigningMethodRS512, one, "one"), no)
	check("PS256", token(jwt.SigningMethodPS256, one, "one"), no)
	check("ES384", token(jwt.SigningMethodES384, other, "other"), no)
	check("a short key", token(jwt.SigningMethodRS256, small, "small"), no)
	check("the public key as a secret", token(jwt.SigningMethodHS256, one.N.Bytes(), "one"), no)
	check("a published secret", token(jwt.SigningMethodHS256, []byte("secret"), "secret"), no)
	if n := i.requests(); n != 1 {
		t.Errorf("the issuer was asked %d times", n)
	}

	i.publish(published(t, "next", next))
	check("an unknown key, just asked for", token(jwt.SigningMethodRS256, next, "next"), no)
	now = now.Add(31 * time.Second)
	check("a new key", token(jwt.SigningMethodRS256, next, "next"), ok)
	check("the old key", token(jwt.SigningMethodRS256, one, "one"), no)

	i.setDown(true)
	now = now.Add(30 * time.Minute)
	check("while the issuer is down", token(jwt.SigningMethodRS256, next, "next"), ok)
	now = now.Add(31 * time.Minute)
	check("an hour without the issuer", token(jwt.SigningMethodRS256, next, "next"), http.StatusServiceUnavailable)
	check("HS256 without the issuer", token(jwt.SigningMethodHS256, []byte(jwtSecret), ""), ok)
	i.setDown(false)
	now = now.Add(31 * time.Second)
	check("the issuer is back", token(jwt.SigningMethodRS256, next, "next"), ok)

	file := filepath.Join(t.TempDir(), "keys.json")
	rules = auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTKeys: auth.NewKeySet(file, clock), Clock: clock})
	check("a file that is not there", token(jwt.SigningMethodRS256, one, "one"), http.StatusServiceUnavailable)
	text, err := json.Marshal(map[string]any{"keys": []any{published(t, "one", one), published(t, "next", next)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(31 * time.Second)
	check("from a file", token(jwt.SigningMethodRS256, one, "one"), ok)
	check("one of two, which it does not say", token(jwt.SigningMethodRS256, one, ""), no)
	check("HMAC without a secret", token(jwt.SigningMethodHS256, []byte(""), "one"), no)
}
