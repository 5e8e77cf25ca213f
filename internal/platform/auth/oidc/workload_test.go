package oidc_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/oidc"
	"harness/tests/oidctest"
)

const audience = "https://harness.example"

// github returns claims as GitHub Actions makes them.
func github(more map[string]any) map[string]any {
	claims := map[string]any{"sub": "repo:octo/app:ref:refs/heads/main", "repository": "octo/app", "ref": "refs/heads/main",
		"repository_owner": "octo", "workflow": "CI", "actor": "ann", "run_attempt": "1", "repository_visibility": "private"}
	for name, value := range more {
		claims[name] = value
	}
	return claims
}

func workloads(t *testing.T, issuer string) *oidc.Set {
	t.Helper()
	return oidc.NewSet(read(t, `[
		{"name": "actions", "kind": "workload", "issuer": "`+issuer+`", "audience": "`+audience+`", "role": "ci", "projects": ["p1"],
		 "claims": {"repository": "octo/app", "ref": "refs/heads/*"}},
		{"name": "releases", "kind": "workload", "issuer": "`+issuer+`", "audience": "`+audience+`", "role": "operator", "actorClaim": "repository",
		 "nameClaim": "workflow", "claims": {"repository": "octo/app", "ref": "refs/tags/v*.*"}}]`), nil, time.Now)
}

// A workload's token grants the rights of the entry that it matches completely. An invalid token gets 401, one without
// an entry 403, and another issuer's token is ignored.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	set := workloads(t, issuer.URL)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := x509.MarshalPKCS1PublicKey(issuer.Public())
	sign := func(more map[string]any) string { return issuer.Sign(issuer.Claims(audience, github(more))) }
	for name, c := range map[string]struct {
		token, actor string
		role         auth.Role
		code         string
	}{
		"a branch":             {sign(nil), "oidc:actions:repo:octo/app:ref:refs/heads/main", auth.RoleCI, ""},
		"a branch in a folder": {sign(map[string]any{"ref": "refs/heads/a/b"}), "oidc:actions:repo:octo/app:ref:refs/heads/main", auth.RoleCI, ""},
		"a tag":                {sign(map[string]any{"ref": "refs/tags/v1.2"}), "oidc:releases:octo/app", auth.RoleOperator, ""},
		"another repository":   {sign(map[string]any{"repository": "octo/app2"}), "", "", "invalid_role_claim"},
		"a longer one":         {sign(map[string]any{"repository": "evil-octo/app"}), "", "", "invalid_role_claim"},
		"two lines":            {sign(map[string]any{"repository": "octo/app\nocto/app"}), "", "", "invalid_role_claim"},
		"upper case":           {sign(map[string]any{"repository": "Octo/app"}), "", "", "invalid_role_claim"},
		"no repository":        {sign(map[string]any{"repository": nil}), "", "", "invalid_role_claim"},
		"a repository as object": {sign(map[string]any{"repository": map[string]any{"octo/app": true}}), "", "",
			"invalid_role_claim"},
		"no subject":     {sign(map[string]any{"sub": nil}), "", "", "invalid_role_claim"},
		"audience":       {issuer.Sign(issuer.Claims("https://other.example", github(nil))), "", "", "invalid_bearer_token"},
		"expired":        {sign(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "", "", "invalid_bearer_token"},
		"without an end": {sign(map[string]any{"exp": nil}), "", "", "invalid_bearer_token"},
		"not yet":        {sign(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "", "", "invalid_bearer_token"},
		"another key":    {issuer.SignBy(jwt.SigningMethodRS256, stranger, issuer.Claims(audience, github(nil))), "", "", "invalid_bearer_token"},
		"the public key as a secret": {issuer.SignBy(jwt.SigningMethodHS256, public, issuer.Claims(audience, github(nil))), "", "",
			"invalid_bearer_token"},
		"no signature": {issuer.SignBy(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, issuer.Claims(audience, github(nil))), "", "",
			"invalid_bearer_token"},
		"another issuer": {sign(map[string]any{"iss": "https://other.example"}), "", "", ""},
		"no token":       {"a.b.c", "", "", ""},
	} {
		who, access, refusal := set.Find(t.Context(), c.token)
		switch {
		case c.code != "":
			if refusal == nil || refusal.Code != c.code || who != nil {
				t.Errorf("%s: %+v %+v, want %s", name, who, refusal, c.code)
			}
		case c.actor == "":
			if who != nil || refusal != nil {
				t.Errorf("%s: %+v %+v, want nothing", name, who, refusal)
			}
		default:
			if who == nil || refusal != nil || who.Actor != c.actor || who.Role != c.role || who.Provider == "" || access.Err() != nil ||
				(who.Projects == nil) != (c.role == auth.RoleOperator) || c.role == auth.RoleOperator && who.Name != "CI" {
				t.Errorf("%s: %+v %+v, want %s as %s", name, who, refusal, c.actor, c.role)
			}
		}
	}
}

// A workload's open connections end with its token.
func TestWorkloadsEnd(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	token := issuer.Sign(issuer.Claims(audience, github(map[string]any{"exp": time.Now().Add(2 * time.Second).Unix()})))
	who, access, refusal := workloads(t, issuer.URL).Find(t.Context(), token)
	if who == nil {
		t.Fatalf("refused: %+v", refusal)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	select {
	case <-access.Done():
	case <-ctx.Done():
		t.Fatal("access does not end")
	}
}

// While an issuer is down, its tokens are refused as not verifiable at that time, and the issuer is tried again.
func TestWorkloadsOfAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	issuer := oidctest.NewIssuer(t)
	issuer.Down.Store(true)
	now := time.Now()
	set := oidc.NewSet(read(t, `[{"name": "actions", "kind": "workload", "issuer": "`+issuer.URL+`", "audience": "`+audience+`",
		"role": "ci", "claims": {"repository": "octo/app"}}]`), nil, func() time.Time { return now })
	token := issuer.Sign(issuer.Claims(audience, github(nil)))
	if who, _, refusal := set.Find(t.Context(), token); who != nil || refusal == nil || refusal.Code != "rbac_keys_unavailable" {
		t.Errorf("down: %+v %+v", who, refusal)
	}
	issuer.Down.Store(false)
	now = now.Add(time.Minute)
	if who, _, refusal := set.Find(t.Context(), token); who == nil {
		t.Errorf("up again: %+v", refusal)
	}
}
