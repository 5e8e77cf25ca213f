package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"
)

// cookiePrefix is the prefix of the name of a browser's login cookie.
const cookiePrefix = "harness_login"

// cookieAge is how long a browser keeps its cookie, in seconds. Its token may expire earlier.
const cookieAge = 30 * 24 * 60 * 60

// maxCookie is the longest cookie, name and value, that browsers accept, in bytes.
const maxCookie = 4096

// cookieName contains the port: cookies ignore ports, and two servers of one machine must not share them.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookiePrefix + "_" + port
	}
	return cookiePrefix
}

// Logins authenticates people by a cookie. The cookie holds their token, in base64 because a cookie allows fewer
// characters. When the token ends, the cookie becomes invalid on every server of the store, without any other state.
// Scripts of the page cannot read it.
type Logins struct {
	options Options
	token   tokenCheck
	path    string
	links   links
	now     func() time.Time
}

// NewLogins makes Logins for a server whose pages are below path, "/" for the whole server.
func NewLogins(options Options, path string) *Logins {
	return &Logins{options: options, token: newTokenCheck(options.Token), path: path, now: time.Now,
		links: links{open: map[[sha256.Size]byte]link{}}}
}

// Open authenticates the caller by a token or the code of a link. It returns the login cookie, which lasts no longer
// than the token.
func (l *Logins) Open(r *http.Request, secret string) (Principal, *http.Cookie, *Refusal) {
	shown := []string{strings.TrimSpace(secret)}
	braked := l.options.Brake.Braked(r)
	check := l.token.unless(braked)
	if strings.HasPrefix(shown[0], linkPrefix) {
		token, is := l.links.redeem(shown[0], l.now())
		if !is {
			return Principal{}, nil, l.guessed(r, braked, unauthorized("link_not_valid"))
		}
		shown[0], check = token, l.token // the code of a link is not a guess
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

// guessed counts the refusal of a guess, and returns the answer.
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

// holder returns the holder of the request's token, and how long the cookie is valid.
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
	if age <= 0 { // the token is valid only by other clocks, and browsers accept no cookie for less than a second
		return Principal{}, 0, unauthorized("invalid_bearer_token")
	}
	return *principal, age, nil
}

// Close returns a cookie that deletes the login cookie.
func (l *Logins) Close(r *http.Request) *http.Cookie { return l.cookie(r, "", -1) }

func (l *Logins) cookie(r *http.Request, value string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(value)), Path: l.path,
		MaxAge: age, HttpOnly: true, Secure: l.options.secureCookies(r), SameSite: http.SameSiteStrictMode}
}

// HasCookie reports whether a request has a login cookie, valid or not.
func HasCookie(r *http.Request) bool { return len(r.CookiesNamed(cookieName(r))) > 0 }

// cookieToken returns the token of a login. It is valid only for the server's own pages. Unlike a header, browsers also
// send a cookie with requests from pages on another port of this host.
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
