package login

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"harness/tests/oidctest"
)

// visit returns the response of an address, without following redirects.
func visit(t *testing.T, browser *http.Client, address string) (status int, to *url.URL, page string) {
	t.Helper()
	still := *browser
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := still.Get(address) //nolint:noctx // the server is bounded by the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	to, _ = answer.Location() // only a redirect has a location
	return answer.StatusCode, to, string(text)
}

// A login is valid only in the browser that started it, with data that the provider signed for it, and redirects only
// to the console.
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	server := start(t, providers(t, map[string]any{"name": "made", "issuer": issuer.URL, "clientId": "harness", "clientSecretFile": "secret",
		"defaultRole": "viewer"}))
	began, callback := server.URL+"/api/login/oidc/made", server.URL+"/api/login/oidc/made/callback?"
	begin := func() (*http.Client, url.Values) {
		browser := oidctest.Browser(t)
		status, to, page := visit(t, browser, began)
		if status != http.StatusSeeOther || !strings.HasPrefix(to.String(), issuer.URL+"/auth?") || to.Query().Get("code_challenge_method") != "S256" {
			t.Fatalf("a login begins with %d %v %s", status, to, page)
		}
		return browser, to.Query()
	}
	answers := func(more func(asked url.Values) string) func(asked url.Values) {
		return func(asked url.Values) {
			issuer.Tokens(func(form url.Values) (int, map[string]any) {
				if form.Get("code") != "the-code" || form.Get("code_verifier") == "" || form.Get("redirect_uri") != asked.Get("redirect_uri") {
					return http.StatusBadRequest, map[string]any{"error": "invalid_grant"}
				}
				return http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": more(asked)}
			})
		}
	}
	signed := func(more map[string]any) func(asked url.Values) {
		return answers(func(asked url.Values) string {
			claims := map[string]any{"nonce": asked.Get("nonce")}
			for name, value := range more {
				claims[name] = value
			}
			return issuer.Sign(issuer.Claims("harness", claims))
		})
	}
	for name, c := range map[string]struct {
		tokens func(asked url.Values)
		back   func(asked url.Values) url.Values // nil means the correct values
		status int
		says   string
	}{
		"all right":       {signed(nil), nil, http.StatusSeeOther, ""},
		"one of its list": {signed(map[string]any{"aud": []string{"harness", "api"}, "azp": "harness"}), nil, http.StatusSeeOther, ""},
		"nonce":           {signed(map[string]any{"nonce": "another"}), nil, http.StatusBadRequest, "invalid_login_state"},
		"no nonce":        {signed(map[string]any{"nonce": nil}), nil, http.StatusBadRequest, "invalid_login_state"},
		"audience":        {signed(map[string]any{"aud": "another"}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"another client":  {signed(map[string]any{"azp": "another"}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"two audiences":   {signed(map[string]any{"aud": []string{"harness", "api"}}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"issuer":          {signed(map[string]any{"iss": "https://other.example"}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"expired":         {signed(map[string]any{"exp": 1}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"no subject":      {signed(map[string]any{"sub": nil}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"signed by the client's secret": {answers(func(asked url.Values) string {
			return issuer.SignBy(jwt.SigningMethodHS256, []byte(clientSecret), issuer.Claims("harness", map[string]any{"nonce": asked.Get("nonce")}))
		}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"not signed": {answers(func(asked url.Values) string {
			return issuer.SignBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, issuer.Claims("harness", map[string]any{"nonce": asked.Get("nonce")}))
		}), nil, http.StatusUnauthorized, "invalid_bearer_token"},
		"state": {signed(nil), func(url.Values) url.Values { return url.Values{"state": {"another"}, "code": {"the-code"}} }, http.StatusBadRequest,
			"invalid_login_state"},
		"no state": {signed(nil), func(url.Values) url.Values { return url.Values{"code": {"the-code"}} }, http.StatusBadRequest, "invalid_login_state"},
		"iss of another": {signed(nil), func(asked url.Values) url.Values {
			return url.Values{"state": asked["state"], "code": {"the-code"}, "iss": {"https://other.example"}}
		}, http.StatusBadRequest, "invalid_login_state"},
		"another code": {signed(nil), func(asked url.Values) url.Values { return url.Values{"state": asked["state"], "code": {"stolen"}} },
			http.StatusForbidden, "login_refused"},
		"refused at the provider": {signed(nil), func(asked url.Values) url.Values {
			return url.Values{"state": asked["state"], "error": {"access_denied"}, "error_description": {"<script>"}}
		}, http.StatusForbidden, "login_refused"},
	} {
		browser, asked := begin()
		c.tokens(asked)
		back := url.Values{"state": asked["state"], "code": {"the-code"}}
		if c.back != nil {
			back = c.back(asked)
		}
		status, to, page := visit(t, browser, callback+back.Encode()+"&return=https://evil.example&redirect_uri=https://evil.example")
		if status != c.status || !strings.Contains(page, c.says) || status == http.StatusSeeOther && to.String() != server.URL+"/" {
			t.Errorf("%s: %d %v %s, want %d %s", name, status, to, page, c.status, c.says)
		}
		if got, who := me(t, browser, server.URL); (got == http.StatusOK) != (c.status == http.StatusSeeOther) {
			t.Errorf("%s: the browser is %d %v then", name, got, who)
		}
		if status, _, _ = visit(t, browser, callback+back.Encode()); status == http.StatusSeeOther {
			t.Errorf("%s: it counts twice", name)
		}
	}
	// A caller with only the address, without the cookie of the browser that started the login, is refused.
	_, asked := begin()
	signed(nil)(asked)
	stranger, _ := begin()
	for _, browser := range []*http.Client{stranger, oidctest.Browser(t)} {
		if status, _, page := visit(t, browser, callback+url.Values{"state": asked["state"], "code": {"the-code"}}.Encode()); status != http.StatusBadRequest {
			t.Errorf("another browser: %d %s", status, page)
		}
	}
	if status, _, page := visit(t, oidctest.Browser(t), server.URL+"/api/login/oidc/none"); status != http.StatusNotFound {
		t.Errorf("no such provider: %d %s", status, page)
	}
	server.Stop()
}

// A provider that is down blocks only its own logins, which get 503 with the cause. The server queries it again once
// it is up.
func TestAProviderThatIsDown(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	issuer.Down.Store(true)
	server := start(t, providers(t, map[string]any{"name": "made", "issuer": issuer.URL, "clientId": "harness"}))
	status, _, page := visit(t, oidctest.Browser(t), server.URL+"/api/login/oidc/made")
	if status != http.StatusServiceUnavailable || !strings.Contains(page, "login_provider_unavailable") || !strings.Contains(page, "503") {
		t.Errorf("down: %d %s", status, page)
	}
	if status, body := server.Ask(http.MethodGet, "/api/me", map[string]string{"Authorization": "Bearer " + ownersToken}); status != http.StatusOK {
		t.Errorf("the owner is answered %d %s", status, body)
	}
	issuer.Down.Store(false)
	server.Eventually("the provider is asked again", func() bool {
		status, _, _ := visit(t, oidctest.Browser(t), server.URL+"/api/login/oidc/made")
		return status == http.StatusSeeOther
	})
	server.Stop()
}
