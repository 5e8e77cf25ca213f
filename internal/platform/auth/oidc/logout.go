package oidc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// logoutEvent is the member of events that marks a token as a logout token (Back-Channel Logout 1.0, section 2.4).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// LoggedOut returns the subject or session whose logins a provider's logout token ends. Either may be "".
// ErrNoProvider, ErrUnavailable, *RefusedError.
func (s *Set) LoggedOut(ctx context.Context, name, token string) (subject, session string, err error) {
	p, issuer, found := s.login(name)
	if !found {
		return "", "", ErrNoProvider
	}
	checked, claims, err := issuer.verified(ctx, token, p.ClientID)
	if err != nil {
		return "", "", err
	}
	events, _ := claims["events"].(map[string]any)
	_, isLogout := events[logoutEvent].(map[string]any)
	_, hasNonce := claims["nonce"]
	subject, session = textAt(claims, "sub"), textAt(claims, "sid")
	switch kind := typeOf(token); {
	case !isLogout || hasNonce || kind != "" && !strings.EqualFold(kind, "logout+jwt") && !strings.EqualFold(kind, "JWT"):
		return "", "", refused("invalid_bearer_token", "this is not a logout token (OpenID Connect Back-Channel Logout 1.0)")
	case subject == "" && session == "":
		return "", "", refused("invalid_bearer_token", "the logout token names neither a subject nor a session")
	case checked.IssuedAt.IsZero() || textAt(claims, "jti") == "":
		return "", "", refused("invalid_bearer_token", "the logout token lacks iat or jti")
	}
	return subject, session, nil
}

// typeOf returns the type in a token's header, "" for none.
func typeOf(token string) string {
	header, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(header)
	var said struct {
		Type string `json:"typ"`
	}
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return ""
	}
	return said.Type
}

// keyOf derives a 32-byte key from the secret of a provider's client.
func keyOf(p *Provider) []byte {
	mac := hmac.New(sha256.New, []byte(p.secret))
	mac.Write([]byte("harness refresh tokens\x00" + p.Issuer + "\x00" + p.ClientID))
	return mac.Sum(nil)
}
