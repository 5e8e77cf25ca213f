package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

const (
	// queryToken is accepted on the websocket only: browsers cannot set a
	// header there, and everywhere else a URL ends up in logs and histories.
	queryToken = "access_token"
	// tokenHeader is for the two routes whose Authorization header already
	// carries the extension token (AGENT_EXTENSION_RBAC_MODE=jwt).
	tokenHeader = "X-Harness-Token"
)

// tokenCheck holds the token's hash: comparing hashes takes the same time
// whatever the length and content of what was sent.
type tokenCheck struct {
	set  bool
	hash [sha256.Size]byte
}

func newTokenCheck(token string) tokenCheck {
	return tokenCheck{set: token != "", hash: sha256.Sum256([]byte(token))}
}

func (t tokenCheck) required() bool { return t.set }

// accepts tells whether the request carries the token in one of its places.
func (t tokenCheck) accepts(r *http.Request) bool {
	if !t.set {
		return false
	}
	if headers := r.Header.Values("Authorization"); len(headers) == 1 {
		scheme, token, _ := strings.Cut(headers[0], " ")
		if strings.EqualFold(scheme, "Bearer") && t.equal(strings.TrimSpace(token)) {
			return true
		}
	}
	if headers := r.Header.Values(tokenHeader); len(headers) == 1 && t.equal(headers[0]) {
		return true
	}
	if offered, is := offeredToken(r); is && t.equal(offered) {
		return true
	}
	if isStreamUpgrade(r) {
		tokens := r.URL.Query()[queryToken]
		return len(tokens) == 1 && t.equal(tokens[0])
	}
	return false
}

// offeredToken is the token in the subprotocols of a websocket's handshake, the one header a browser lets a page choose
// there.
func offeredToken(r *http.Request) (token string, is bool) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return "", false
	}
	for _, values := range r.Header.Values("Sec-WebSocket-Protocol") {
		for value := range strings.SplitSeq(values, ",") {
			if token, is = strings.CutPrefix(strings.TrimSpace(value), "bearer."); is {
				return token, true
			}
		}
	}
	return "", false
}

func (t tokenCheck) equal(given string) bool {
	hash := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(hash[:], t.hash[:]) == 1
}

func isStreamUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == streamPath &&
		strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// withoutQueryToken takes the token out of the URL before anybody logs it. The
// other parameters keep their bytes and order.
func withoutQueryToken(r *http.Request) *http.Request {
	if r.URL.RawQuery == "" {
		return r
	}
	pairs := strings.Split(r.URL.RawQuery, "&")
	var kept []string
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err != nil || decoded != queryToken {
			kept = append(kept, pair)
		}
	}
	if len(kept) == len(pairs) {
		return r
	}
	clean := r.Clone(r.Context())
	clean.URL.RawQuery = strings.Join(kept, "&")
	clean.RequestURI = clean.URL.RequestURI()
	return clean
}
