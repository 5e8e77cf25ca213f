package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"math"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// RBACMode is how the two extension routes determine a caller's role (AGENT_EXTENSION_RBAC_MODE).
type RBACMode string

// The modes.
const (
	// RBACDisabled: a loopback peer is admin, all others are refused.
	RBACDisabled RBACMode = "disabled"
	// RBACHeader: a shared token vouches for the role header.
	RBACHeader RBACMode = "header"
	// RBACJWT: a signed token carries role and actor; headers are ignored.
	RBACJWT RBACMode = "jwt"
)

// RBACOptions are the rules of one server.
type RBACOptions struct {
	Mode RBACMode
	// HeaderSecret is the shared token of mode header; "" requires none (only with the insecure switch).
	HeaderSecret string
	// JWTSecret is the HMAC key of mode jwt. JWTIssuer and JWTAudience are required when set.
	JWTSecret, JWTIssuer, JWTAudience string
	// JWTKeys are the public keys of tokens signed with RS256 or ES256, nil for none.
	JWTKeys *KeySet
	// RoleClaim and ActorClaim name the claims; role and sub when empty. RoleClaim may be a path of names separated by
	// dots.
	RoleClaim, ActorClaim string
	// RoleMap translates names in the role claim (HARNESS_ROLE_MAP).
	RoleMap map[string]Role
	// JWTRequireExp refuses tokens of mode jwt that never expire.
	JWTRequireExp bool
	// Clock is time.Now when nil.
	Clock func() time.Time
	// Brake rate limits guesses of tokens; nil disables that.
	Brake *Brake
}

// Warning returns a warning about valid rules, with its remedy; "" for none.
func (o *RBACOptions) Warning() string {
	if o.Mode != RBACJWT || o.JWTRequireExp {
		return ""
	}
	return "tokens without an expiry time (exp) are accepted, and a leaked one never expires: have your issuer set exp, then set " +
		"AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP=true"
}

// RBAC decides who may list and reload extensions.
type RBAC struct {
	opts   RBACOptions
	parser *jwt.Parser
}

// maxBearer bounds a bearer token in bytes; longer ones are refused unread.
const maxBearer = 8 << 10

// latestTime bounds the times of a token, in seconds: the largest integer that JavaScript represents exactly.
const latestTime = 1 << 53

// jwtLeeway is how far the clocks of issuer and server may differ.
const jwtLeeway = 5 * time.Second

// disabledActor is the actor of mode disabled (codex-manager's name).
const disabledActor = "local-disabled-rbac"

// NewRBAC makes the rules.
func NewRBAC(opts RBACOptions) *RBAC {
	if opts.RoleClaim == "" {
		opts.RoleClaim = "role"
	}
	if opts.ActorClaim == "" {
		opts.ActorClaim = "sub"
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	// Never "none". The algorithm of a token selects the key (keyOf), so that a public key never serves as a secret.
	var methods []string
	if strings.TrimSpace(opts.JWTSecret) != "" {
		methods = append(methods, "HS256", "HS384", "HS512")
	}
	if opts.JWTKeys != nil {
		methods = append(methods, "RS256", "ES256")
	}
	options := []jwt.ParserOption{jwt.WithValidMethods(methods), jwt.WithLeeway(jwtLeeway), jwt.WithTimeFunc(opts.Clock)}
	if opts.JWTIssuer != "" {
		options = append(options, jwt.WithIssuer(opts.JWTIssuer))
	}
	if opts.JWTAudience != "" {
		options = append(options, jwt.WithAudience(opts.JWTAudience))
	}
	return &RBAC{opts: opts, parser: jwt.NewParser(options...)}
}

// Refusal is the reason for refusing a caller; the codes are codex-manager's.
type Refusal struct {
	// HTTPStatus is 400, 401, 403, 409, 429, 500 or 503.
	HTTPStatus int    `json:"-"`
	Status     string `json:"status"` // unauthorized, forbidden or error
	Code       string `json:"code"`
	// Message is set when Code is not one of codex-manager's.
	Message string `json:"message,omitempty"`
	// Required and Role are set with insufficient_role.
	Required []Role `json:"required,omitempty"`
	Role     Role   `json:"role,omitempty"`
}

// Error implements error.
func (r *Refusal) Error() string { return r.Code }

func unauthorized(code string) *Refusal {
	return &Refusal{HTTPStatus: http.StatusUnauthorized, Status: "unauthorized", Code: code}
}

func forbidden(code string) *Refusal {
	return &Refusal{HTTPStatus: http.StatusForbidden, Status: "forbidden", Code: code}
}

// Authorize returns the principal of a request, and refuses a role that is not allowed. With insufficient_role it also
// returns the principal, for the audit record.
func (r *RBAC) Authorize(req *http.Request, allowed ...Role) (Principal, *Refusal) {
	principal, refusal := r.identify(req)
	if refusal != nil {
		if refusal.HTTPStatus == http.StatusUnauthorized && ofPage(req) {
			return Principal{}, r.pageRefusal()
		}
		if refusal.isGuess() {
			r.opts.Brake.Wrong(req)
		}
		return Principal{}, refusal
	}
	if !slices.Contains(allowed, principal.Role) {
		refusal = forbidden("insufficient_role")
		refusal.Required, refusal.Role = allowed, principal.Role
		return principal, refusal
	}
	return principal, nil
}

// ofPage reports whether a request is from a page of this server whose caller the guard admitted. Programs get
// codex-manager's answers.
func ofPage(req *http.Request) bool {
	_, admitted := PrincipalFrom(req.Context())
	return admitted && req.Header.Get("Authorization") == "" &&
		(HasCookie(req) || strings.EqualFold(req.Header.Get("Sec-Fetch-Site"), "same-origin"))
}

// pageRefusal says what a page's caller needs. It is not 401: the login is valid, and logging in again does not help.
func (r *RBAC) pageRefusal() *Refusal {
	if r.opts.Mode == RBACHeader {
		refusal := forbidden("role_header_required")
		refusal.Message = "This page needs the role headers of your proxy (AGENT_EXTENSION_RBAC_MODE=header). " +
			"Open it through the proxy that signs people in."
		return refusal
	}
	refusal := forbidden("signed_token_required")
	refusal.Message = "This page needs a signed token (AGENT_EXTENSION_RBAC_MODE=jwt). " +
		"Sign out, then sign in with a token of your identity provider."
	return refusal
}

func (r *RBAC) identify(req *http.Request) (Principal, *Refusal) {
	switch r.opts.Mode {
	case RBACHeader:
		return r.byHeader(req)
	case RBACJWT:
		return r.byJWT(req)
	}
	// Only the peer's own address counts: any client can set X-Forwarded-For.
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil || !IsLoopback(host) {
		return Principal{}, forbidden("rbac_disabled_remote_forbidden")
	}
	return Principal{Actor: disabledActor, Role: RoleAdmin}, nil
}

// The headers of mode header. codex-manager's own Python client sends role and actor in the second spelling.
const (
	rbacTokenHeader = "X-Codex-Rbac-Token"
	roleHeader      = "X-Codex-Role"
	roleHeader2     = "X-Codex-Rbac-Role"
	actorHeader     = "X-Codex-Actor"
	actorHeader2    = "X-Codex-Rbac-Actor"
)

// header reads a header trimmed. It joins repeated headers, so that no role can hide behind another.
func header(req *http.Request, names ...string) string {
	for _, name := range names {
		if value := strings.TrimSpace(strings.Join(req.Header.Values(name), ", ")); value != "" {
			return value
		}
	}
	return ""
}

func (r *RBAC) byHeader(req *http.Request) (Principal, *Refusal) {
	if secret := strings.TrimSpace(r.opts.HeaderSecret); secret != "" {
		token := header(req, rbacTokenHeader)
		if token == "" {
			return Principal{}, unauthorized("missing_header_token")
		}
		if r.opts.Brake.Braked(req) {
			return Principal{}, tooManyGuesses()
		}
		// Hashes take the same time to compare for any input.
		given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			return Principal{}, unauthorized("invalid_header_token")
		}
	}
	role := Role(header(req, roleHeader, roleHeader2))
	if role == "" {
		return Principal{}, unauthorized("missing_role")
	}
	if !role.Valid() {
		return Principal{}, &Refusal{HTTPStatus: http.StatusBadRequest, Status: "error", Code: "invalid_role"}
	}
	return Principal{Actor: header(req, actorHeader, actorHeader2), Role: role}, nil
}

// bearer matches the scheme in any case, followed by any amount of space.
var bearer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^Bearer\s+(.+)$`) })

func (r *RBAC) byJWT(req *http.Request) (Principal, *Refusal) {
	if strings.TrimSpace(r.opts.JWTSecret) == "" && r.opts.JWTKeys == nil {
		return Principal{}, &Refusal{HTTPStatus: http.StatusInternalServerError, Status: "error", Code: "rbac_misconfigured"}
	}
	value := header(req, "Authorization")
	if value == "" {
		if holder, _ := PrincipalFrom(req.Context()); holder.Signed || holder.Provider != "" { // the cookie of a login has it
			return holder, nil
		}
		return Principal{}, unauthorized("missing_bearer_token")
	}
	match := bearer().FindStringSubmatch(value)
	if match == nil {
		return Principal{}, unauthorized("invalid_authorization_header")
	}
	claims, refusal := r.claims(req.Context(), strings.TrimSpace(match[1]))
	if refusal != nil {
		return Principal{}, refusal
	}
	role, known := r.roleOf(claims, extensionRole)
	if !known {
		return Principal{}, forbidden("invalid_role_claim")
	}
	actor, _ := claims[r.opts.ActorClaim].(string)
	return Principal{Actor: strings.TrimSpace(actor), Role: role}, nil
}

// claims returns the used claims of a token.
func (r *RBAC) claims(ctx context.Context, token string) (jwt.MapClaims, *Refusal) {
	claims, err := r.verify(ctx, token)
	if errors.Is(err, ErrNoKeys) {
		return nil, &Refusal{HTTPStatus: http.StatusServiceUnavailable, Status: "error", Code: "rbac_keys_unavailable"}
	}
	if err != nil {
		return nil, unauthorized("invalid_bearer_token")
	}
	if _, expires := claims["exp"]; !expires && r.opts.JWTRequireExp {
		return nil, unauthorized("missing_exp_claim")
	}
	return claims, nil
}

var (
	errTooLong  = errors.New("bearer token is too long")
	errCritical = errors.New("bearer token has critical headers that are not supported")
)

// verify checks signature, times, issuer and audience.
func (r *RBAC) verify(ctx context.Context, token string) (jwt.MapClaims, error) {
	if len(token) > maxBearer {
		return nil, errTooLong
	}
	claims := jwt.MapClaims{}
	_, err := r.parser.ParseWithClaims(token, claims, func(parsed *jwt.Token) (any, error) {
		if _, critical := parsed.Header["crit"]; critical {
			return nil, errCritical
		}
		return r.keyOf(ctx, parsed)
	})
	if err != nil {
		return nil, err
	}
	// A time must be a number: in maps, the library ignores only absent times, and reads one beyond int64 as long past.
	for _, name := range []string{"exp", "nbf", "iat"} {
		if value, ok := claims[name]; ok {
			if at, isNumber := value.(float64); !isNumber || math.Abs(at) > latestTime {
				return nil, jwt.ErrInvalidType
			}
		}
	}
	return claims, nil
}

// keyOf returns the key for a token's signature: the secret only for HMAC, a public key for the others.
func (r *RBAC) keyOf(ctx context.Context, token *jwt.Token) (any, error) {
	if _, is := token.Method.(*jwt.SigningMethodHMAC); is {
		return []byte(r.opts.JWTSecret), nil
	}
	id, _ := token.Header["kid"].(string)
	return r.opts.JWTKeys.key(ctx, token.Method.Alg(), id)
}
