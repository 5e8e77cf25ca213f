package auth

import (
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

// cookiePrefix begins the name of the cookie a browser is logged in by.
const cookiePrefix = "harness_login"

// cookieAge is how long a browser keeps its cookie, in seconds. The token in it may end before.
const cookieAge = 30 * 24 * 60 * 60

// cookieName has the port in it: cookies know none, and two servers of one machine must not take each other's.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookiePrefix + "_" + port
	}
	return cookiePrefix
}

// Logins lets people in by a cookie. It has their token, as base64 since a cookie may
// not have all the characters of one: what ends the token ends the cookie, on every
// server of the store, and nothing else has to be kept. Scripts of the page cannot read it.
type Logins struct {
	options Options
	token   tokenCheck
	path    string
}

// NewLogins makes one for the rules of a server whose pages are below path, "/" for all of it.
func NewLogins(options Options, path string) *Logins {
	return &Logins{options: options, token: newTokenCheck(options.Token), path: path}
}

// Open is who comes in by a token, and the cookie to come back by. false: the token is none of this server's.
func (l *Logins) Open(r *http.Request, secret string) (Principal, *http.Cookie, bool) {
	shown := []string{strings.TrimSpace(secret)}
	principal, _, found, _ := l.options.named(shown)
	if l.token.accepts(shown) {
		principal, found = ownerPrincipal(), true
	}
	if !found {
		return Principal{}, nil, false
	}
	return principal, l.cookie(r, shown[0], cookieAge), true
}

// Close is the cookie that takes the other one away.
func (l *Logins) Close(r *http.Request) *http.Cookie { return l.cookie(r, "", -1) }

func (l *Logins) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(value)), Path: l.path,
		MaxAge: age, HttpOnly: true, Secure: l.options.scheme(r) == "https", SameSite: http.SameSiteStrictMode}
}

// HasCookie tells whether a request comes with the cookie of a login, whatever that is worth.
func HasCookie(r *http.Request) bool { return len(r.CookiesNamed(cookieName(r))) > 0 }

// cookieToken is the token of a login. It counts for the server's own pages alone: unlike a header, a cookie comes
// along with whatever a page of another port of this host asks for, listed origin or not.
func (o Options) cookieToken(r *http.Request) (token string, is bool) {
	cookies := r.CookiesNamed(cookieName(r))
	if len(cookies) != 1 || cookies[0].Value == "" {
		return "", false
	}
	switch strings.ToLower(r.Header.Get("Sec-Fetch-Site")) {
	case "", "same-origin", "none":
	default:
		return "", false
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 ||
		len(origins) == 1 && !OriginAllowed(origins[0], o.scheme(r), r.Host, nil) {
		return "", false
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	return string(secret), err == nil
}
