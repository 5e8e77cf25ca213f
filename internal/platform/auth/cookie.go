package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"
)

// cookiePrefix begins the name of the cookie a browser is logged in by.
const cookiePrefix = "harness_login"

// cookieAge is how long a browser keeps its cookie, in seconds. The token in it may end before.
const cookieAge = 30 * 24 * 60 * 60

// maxCookie is how many bytes browsers take of a cookie's name and value; of a longer one they keep nothing.
const maxCookie = 4096

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
	links   links
	now     func() time.Time
}

// NewLogins makes one for the rules of a server whose pages are below path, "/" for all of it.
func NewLogins(options Options, path string) *Logins {
	return &Logins{options: options, token: newTokenCheck(options.Token), path: path, now: time.Now,
		links: links{open: map[[sha256.Size]byte]link{}}}
}

// Open is who comes in by a token or the code of a link, and the cookie to come back by, which is kept no longer than the
// token counts.
func (l *Logins) Open(r *http.Request, secret string) (Principal, *http.Cookie, *Refusal) {
	shown := []string{strings.TrimSpace(secret)}
	braked := l.options.Brake.Braked(r)
	check := l.token.unless(braked)
	if strings.HasPrefix(shown[0], linkPrefix) {
		token, is := l.links.take(shown[0], l.now())
		if !is {
			return Principal{}, nil, l.guessed(r, braked, unauthorized("link_not_valid"))
		}
		shown[0], check = token, l.token // who has a link guesses nothing
	}
	principal, age, refusal := l.holder(r, check, shown)
	if refusal != nil {
		return Principal{}, nil, l.guessed(r, braked, refusal)
	}
	cookie := l.cookie(r, shown[0], age)
	if len(cookie.Name)+len(cookie.Value) > maxCookie {
		return Principal{}, nil, &Refusal{HTTPStatus: http.StatusBadRequest, Status: "error", Code: "token_too_long"}
	}
	return principal, cookie, nil
}

// guessed counts a refusal that is of a guess, and is what to answer.
func (l *Logins) guessed(r *http.Request, braked bool, refusal *Refusal) *Refusal {
	switch {
	case !refusal.isGuess():
		return refusal
	case braked:
		return tooManyGuesses()
	}
	l.options.Brake.Wrong(r)
	return refusal
}

// holder is whose token is shown, and how long its cookie is kept.
func (l *Logins) holder(r *http.Request, token tokenCheck, shown []string) (Principal, int, *Refusal) {
	if found, is, _ := l.options.holderOf(token, shown); is {
		return found.principal, cookieAge, nil
	}
	principal, access, refusal := l.options.Signed.find(r, shown)
	switch {
	case refusal != nil:
		return Principal{}, 0, refusal
	case principal == nil:
		return Principal{}, 0, unauthorized("unauthorized")
	}
	age := cookieAge
	if end, ends := access.Deadline(); ends {
		age = min(age, int((time.Until(end) - jwtLeeway).Seconds()))
	}
	if age <= 0 { // it counts for other clocks alone, and browsers take no cookie for less than a second
		return Principal{}, 0, unauthorized("invalid_bearer_token")
	}
	return *principal, age, nil
}

// Close is the cookie that takes the other one away.
func (l *Logins) Close(r *http.Request) *http.Cookie { return l.cookie(r, "", -1) }

func (l *Logins) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(value)), Path: l.path,
		MaxAge: age, HttpOnly: true, Secure: l.options.secureCookies(r), SameSite: http.SameSiteStrictMode}
}

// HasCookie reports whether a request comes with the cookie of a login, whatever that is worth.
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
