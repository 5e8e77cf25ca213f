// Package oidctest gives tests OpenID Connect providers on loopback. Provider is a real one (oidc-provider from npm,
// which scripts/oidc-tool.sh installs). Issuer signs any claims of a test, even invalid ones.
package oidctest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// keyID names the only key of an issuer.
const keyID = "the-key"

// Issuer publishes a key and signs tokens.
type Issuer struct {
	URL string
	// Down makes it respond with 503 to all requests.
	Down atomic.Bool

	t   testing.TB
	key *rsa.PrivateKey

	mu     sync.Mutex
	answer func(form url.Values) (status int, body map[string]any)
	more   map[string]any // claims of UserInfo
}

// NewIssuer starts an issuer until the test ends.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{t: t, key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		hasInfo := i.more != nil
		i.mu.Unlock()
		about := map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth",
			"token_endpoint": i.URL + "/token", "device_authorization_endpoint": i.URL + "/device",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
		if hasInfo {
			about["userinfo_endpoint"] = i.URL + "/me"
		}
		reply(w, http.StatusOK, about)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		encode := base64.RawURLEncoding.EncodeToString
		reply(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "kid": keyID, "use": "sig", "alg": "RS256",
			"n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		reply(w, http.StatusOK, i.more)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.Down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Tokens sets the token endpoint's response to a form.
func (i *Issuer) Tokens(answer func(form url.Values) (status int, body map[string]any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

// UserInfo sets the claims of the UserInfo endpoint and enables it.
func (i *Issuer) UserInfo(claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.more = claims
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	answer := i.answer
	i.mu.Unlock()
	if err := r.ParseForm(); err != nil || answer == nil {
		http.Error(w, "no token", http.StatusInternalServerError)
		return
	}
	status, body := answer(r.PostForm)
	reply(w, status, body)
}

// Claims returns the claims of a token for an audience, valid for an hour. more adds or replaces claims.
func (i *Issuer) Claims(audience string, more map[string]any) jwt.MapClaims {
	claims := jwt.MapClaims{"iss": i.URL, "aud": audience, "sub": "ann", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range more {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	return claims
}

// Sign signs claims with the issuer's key.
func (i *Issuer) Sign(claims jwt.MapClaims) string {
	i.t.Helper()
	return i.SignBy(jwt.SigningMethodRS256, i.key, claims)
}

// Public returns the issuer's public key, which must not verify a signature as a shared secret.
func (i *Issuer) Public() *rsa.PublicKey { return &i.key.PublicKey }

// SignBy signs with another method or key, under the issuer's key id.
func (i *Issuer) SignBy(method jwt.SigningMethod, key crypto.PrivateKey, claims jwt.MapClaims) string {
	i.t.Helper()
	token := jwt.NewWithClaims(method, claims)
	token.Header["kid"] = keyID
	text, err := token.SignedString(key)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have disconnected
}
