package auth

import (
	"context"
	"net/http"
	"strings"
)

// OwnerPrefix is the prefix of every owner's token.
const OwnerPrefix = "hro_"

// Owner is the token that every server makes for its owner.
type Owner interface {
	// Find reports whether a secret is the token, and returns a context that ends once the token is invalid.
	Find(secret string) (context.Context, bool)
}

// holder is the holder of a valid token.
type holder struct {
	principal Principal
	// access ends when the token becomes invalid, nil for never.
	access context.Context //nolint:containedctx // it spans the token's life, not a call's
}

// holderOf returns the holder of one of this server's own tokens. It refuses an invalid token with the prefix of owner,
// named or login tokens. Its caller meant to use that token, and must not get other rights instead.
func (o Options) holderOf(token tokenCheck, shown []string) (found holder, is, refused bool) {
	if token.accepts(shown) {
		return holder{principal: ownerPrincipal()}, true, false
	}
	for _, secret := range shown {
		switch {
		case strings.HasPrefix(secret, OwnerPrefix):
			if o.Owner != nil {
				if access, counts := o.Owner.Find(secret); counts {
					return holder{ownerPrincipal(), access}, true, false
				}
			}
			refused = true
		case strings.HasPrefix(secret, TokenPrefix), isLogin(secret):
			if o.Named != nil {
				if principal, access, counts := o.Named.Find(secret); counts {
					return holder{principal, access}, true, false
				}
			}
			refused = true
		}
	}
	return holder{}, false, refused
}

// signedHolder returns the holder of a signed token, and whether it is a workload.
func (o Options) signedHolder(r *http.Request, shown []string) (found holder, is, workload bool, refusal *Refusal) {
	principal, access, refusal := o.bearer(r, shown)
	if workload = principal != nil || refusal != nil; !workload {
		principal, access, refusal = o.Signed.find(r, shown)
	}
	if refusal != nil || principal == nil {
		return holder{}, false, workload, refusal
	}
	return holder{*principal, access}, true, workload, nil
}
