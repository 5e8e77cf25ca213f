package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"harness/internal/platform/auth"
)

// Find implements auth.Bearers: the token of a workload grants the role and projects of the first entry that it
// matches.
func (s *Set) Find(ctx context.Context, token string) (*auth.Principal, context.Context, *auth.Refusal) {
	issuer := issuerOf(token)
	var refusal *auth.Refusal
	for i := range s.providers {
		p := &s.providers[i]
		if p.Kind != KindWorkload || p.Issuer != issuer {
			continue
		}
		checked, claims, err := s.issuers[p.Issuer].verified(ctx, token, p.Audience)
		switch actor := textAt(claims, p.ActorClaim); {
		case errors.Is(err, ErrUnavailable):
			return nil, nil, &auth.Refusal{HTTPStatus: http.StatusServiceUnavailable, Status: "error", Code: "rbac_keys_unavailable"}
		case err == nil && actor != "" && p.matches(claims):
			role, _ := auth.ParseRole(p.Role)
			who := auth.Principal{Actor: p.actor(actor), Role: role, Projects: p.limit(), Provider: p.Name, Name: p.nameOf(claims, actor)}
			return &who, s.lives.Until(token, checked.Expiry.Sub(s.now())), nil
		case err == nil:
			refusal = &auth.Refusal{HTTPStatus: http.StatusForbidden, Status: "forbidden", Code: "invalid_role_claim"}
		case refusal == nil:
			refusal = &auth.Refusal{HTTPStatus: http.StatusUnauthorized, Status: "unauthorized", Code: "invalid_bearer_token"}
		}
	}
	return nil, nil, refusal
}

// issuerOf returns the claimed issuer of a token, "" for an invalid one. It is not verified.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Issuer
}
