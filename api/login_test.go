package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/internal/platform/auth"
)

// ann holds the only named token of a server.
type ann struct{ role auth.Role }

func (a ann) Find(secret string) (auth.Principal, context.Context, bool) {
	return auth.Principal{Actor: "token:ann", Role: a.role, TokenID: "1"}, context.Background(), secret == "hrn_ann"
}

func (ann) Any() bool { return true }

// A person logs in with a token, sees what the token's role may do, and logs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	document := readDocument(t)
	for role, says := range map[auth.Role]string{
		auth.RoleMember:   `"role":"viewer","allowed":["read"]`,
		auth.RoleCI:       `"role":"ci","allowed":["transcripts"]`,
		auth.RoleOperator: `"role":"operator","allowed":["read","transcripts","work"]`,
		auth.RoleAdmin:    `"role":"admin","allowed":["read","transcripts","work","administer"]`,
	} {
		rules := auth.Options{BoundHost: "127.0.0.1", Token: "the-owners-own-token", Named: ann{role}}
		b := setup(t, func(p *parts) {
			p.Guard, p.Logins = auth.Guard(rules), auth.NewLogins(rules, "/")
		})
		send := func(method, target, body string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
			kind := ""
			if body != "" {
				kind = "application/json"
			}
			r := request(method, target, kind, body)
			r.Host = "127.0.0.1:3001"
			for _, cookie := range cookies {
				r.AddCookie(cookie)
			}
			w := b.sendRequest(r)
			if err := document.checkReply(document.find(method, target), w.Code, w.Body.String()); err != nil {
				t.Errorf("%s %s: %v", method, target, err)
			}
			return w
		}
		for body, status := range map[string]int{`{"token":"hrn_eve"}`: 401, `{"token":" "}`: 400, `{}`: 400, `{"token":1}`: 400} {
			if w := send(http.MethodPost, "/api/login", body); w.Code != status || len(w.Result().Cookies()) > 0 {
				t.Errorf("%s logs in with %d and %v", body, w.Code, w.Result().Cookies())
			}
		}
		if w := send(http.MethodGet, "/api/me", ""); w.Code != http.StatusUnauthorized {
			t.Errorf("anonymous: %d %s", w.Code, w.Body)
		}
		w := send(http.MethodPost, "/api/login", `{"token":" hrn_ann "}`)
		if w.Code != http.StatusOK || len(w.Result().Cookies()) != 1 || !strings.Contains(w.Body.String(), says) {
			t.Fatalf("%s logs in with %d %s %v", role, w.Code, w.Body, w.Result().Cookies())
		}
		cookie := w.Result().Cookies()[0]
		if w := send(http.MethodGet, "/api/me", "", cookie); !strings.Contains(w.Body.String(), says+`,"login":true`) {
			t.Errorf("%s: %d %s, want %s", role, w.Code, w.Body, says)
		}
		w = send(http.MethodPost, "/api/logout", "", cookie)
		if gone := w.Result().Cookies(); w.Code != http.StatusOK || len(gone) != 1 || gone[0].MaxAge >= 0 {
			t.Errorf("logging out: %d %v", w.Code, gone)
		}
	}
	owner := auth.Options{BoundHost: "127.0.0.1", Token: "the-owners-own-token"}
	b := setup(t, func(p *parts) {
		p.Guard, p.Logins = auth.Guard(owner), auth.NewLogins(owner, "/")
	})
	r := request(http.MethodPost, "/api/login", "application/json", `{"token":"the-owners-own-token"}`)
	r.Host = "127.0.0.1:3001"
	if w := b.sendRequest(r); !strings.Contains(w.Body.String(), `"role":"owner"`) {
		t.Errorf("the owner logs in with %d %s", w.Code, w.Body)
	}
	if w := setup(t, func(p *parts) { p.Options.Logins = nil }).send(http.MethodGet, "/api/me", "", ""); w.Code != http.StatusNotFound {
		t.Errorf("without logins: %d %s", w.Code, w.Body)
	}
}
