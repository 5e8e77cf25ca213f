package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	// queryToken is accepted only on the websocket: browsers cannot set a header there. Everywhere else a URL ends up
	// in logs and histories.
	queryToken = "access_token"
	// tokenHeader is for the two routes whose Authorization header already
	// carries the extension token (AGENT_EXTENSION_RBAC_MODE=jwt).
	tokenHeader = "X-Harness-Token"
)

// tokenCheck holds the token's hash: comparing hashes takes the same time whatever the caller sent.
type tokenCheck struct {
	set  bool
	hash [sha256.Size]byte
}

func newTokenCheck(token string) tokenCheck {
	return tokenCheck{set: token != "", hash: sha256.Sum256([]byte(token))}
}

// unless returns a check that accepts nothing while the caller is rate limited.
func (t tokenCheck) unless(braked bool) tokenCheck {
	if braked {
		return tokenCheck{}
	}
	return t
}

func (t tokenCheck) required() bool { return t.set }

// TokenPrefix is the prefix of the secret of every named token.
const TokenPrefix = "hrn_"

// LoginPrefix is the prefix of the secret of every login at an OpenID Connect provider.
const LoginPrefix = "hrs_"

// shownTokens returns the tokens of a request.
func shownTokens(r *http.Request) (shown []string) {
	if headers := r.Header.Values("Authorization"); len(headers) == 1 {
		if scheme, token, _ := strings.Cut(headers[0], " "); strings.EqualFold(scheme, "Bearer") {
			shown = append(shown, strings.TrimSpace(token))
		}
	}
	if headers := r.Header.Values(tokenHeader); len(headers) == 1 {
		shown = append(shown, headers[0])
	}
	if offered, is := offeredToken(r); is {
		shown = append(shown, offered)
	}
	if isStreamUpgrade(r) {
		if tokens := r.URL.Query()[queryToken]; len(tokens) == 1 {
			shown = append(shown, tokens[0])
		}
	}
	return shown
}

// accepts reports whether the token is among those of the request.
func (t tokenCheck) accepts(shown []string) bool { return t.set && slices.ContainsFunc(shown, t.equal) }

// isLogin reports whether a secret belongs to a login at a provider.
func isLogin(secret string) bool { return strings.HasPrefix(secret, LoginPrefix) }

// bearer returns the principal of a workload's token. Without such a token it returns nil and no refusal.
func (o Options) bearer(r *http.Request, shown []string) (*Principal, context.Context, *Refusal) {
	if o.Bearers == nil {
		return nil, nil, nil
	}
	for _, token := range shown {
		if strings.Count(token, ".") != 2 || len(token) > maxBearer {
			continue
		}
		if principal, access, refusal := o.Bearers.Find(r.Context(), token); principal != nil || refusal != nil {
			return principal, access, refusal
		}
	}
	return nil, nil, nil
}

// offeredToken returns the token in the subprotocols of a websocket's handshake, the only header that a browser lets a
// page choose there.
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

// withoutQueryToken removes the token from the URL before it is logged. The other parameters keep their bytes and
// order.
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
