package auth

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// flowCookie is the prefix of the name of a browser's cookie during a login at an OpenID Connect provider.
const flowCookie = "harness_oidc"

// flowAge bounds the login at a provider, in seconds.
const flowAge = 10 * 60

// Keep returns the login cookie for a secret, valid for a number of seconds.
func (l *Logins) Keep(r *http.Request, secret string, age int) *http.Cookie {
	return l.cookie(r, secret, age)
}

// Shown returns the login secret of a request, from a header or a cookie; "" for none.
func (l *Logins) Shown(r *http.Request) string {
	shown := shownTokens(r)
	if cookie, is := l.options.cookieToken(r); is {
		shown = append(shown, cookie)
	}
	for _, secret := range shown {
		if isLogin(secret) {
			return secret
		}
	}
	return ""
}

// Address returns the URL of this server's pages, without a trailing slash: HARNESS_PUBLIC_URL, or else the URL of the
// request.
func (l *Logins) Address(r *http.Request) string {
	if l.options.PublicURL != "" {
		return l.options.PublicURL
	}
	return l.options.scheme(r) + "://" + r.Host + strings.TrimSuffix(l.path, "/")
}

// Home returns the path of the console.
func (l *Logins) Home() string { return l.path }

// Leave returns the cookie of a browser that is sent to a provider, with the state that it must return. The provider's
// answer is a navigation from another site, with which browsers send no strict cookie.
func (l *Logins) Leave(r *http.Request, value string) *http.Cookie {
	return &http.Cookie{Name: flowName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(value)), Path: l.path + "api/login/oidc/",
		MaxAge: flowAge, HttpOnly: true, Secure: l.options.secureCookies(r), SameSite: http.SameSiteLaxMode}
}

// Back returns the state that a browser brings back from a provider, "" for none, and a cookie that deletes the one of
// Leave.
func (l *Logins) Back(r *http.Request) (string, *http.Cookie) {
	gone := l.Leave(r, "")
	gone.MaxAge = -1
	cookies := r.CookiesNamed(flowName(r))
	if len(cookies) != 1 {
		return "", gone
	}
	value, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return "", gone
	}
	return string(value), gone
}

func flowName(r *http.Request) string {
	return flowCookie + strings.TrimPrefix(cookieName(r), cookiePrefix)
}
