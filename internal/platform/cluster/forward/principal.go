package forward

import (
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

// lifetime is how long a signature is valid, by the store's clock; skew allows for a clock that a failover sets back.
const (
	lifetime = 30 * time.Second
	skew     = 2 * time.Second
)

// claims bind a client's identity to one request from one node to another, at this time.
type claims struct {
	jwt.RegisteredClaims
	Method string `json:"htm"`
	URI    string `json:"htu"`
	Body   string `json:"body"`

	Actor   string    `json:"actor"`
	Role    auth.Role `json:"role"`
	TokenID string    `json:"tokenId,omitempty"`
	Signed  bool      `json:"signed,omitempty"`
	// Provider and Name come from an OpenID Connect login.
	Provider string `json:"provider,omitempty"`
	Name     string `json:"name,omitempty"`
	// Unlimited means that the client may access all projects; otherwise Projects are its only ones.
	Unlimited bool     `json:"unlimited,omitempty"`
	Projects  []string `json:"projects,omitempty"`
	// Agent is set for the agent of a session of the node that signs, which has no other rights.
	Agent *Agent `json:"agent,omitempty"`
}

// ask is the request to sign.
type ask struct {
	from, to    string // node ids
	method, uri string
	body        []byte
	now         time.Time
	agent       *Agent // nil for people
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// sign signs the client's identity on behalf of this node.
func (id *Identity) sign(a ask, who auth.Principal) (string, error) {
	c := claims{Method: a.method, URI: a.uri, Body: hash(a.body), Actor: who.Actor, Role: who.Role, TokenID: who.TokenID,
		Signed: who.Signed, Provider: who.Provider, Name: who.Name, Unlimited: who.Projects == nil, Projects: who.Projects.IDs(),
		RegisteredClaims: jwt.RegisteredClaims{Issuer: a.from, Audience: jwt.ClaimStrings{a.to},
			IssuedAt: jwt.NewNumericDate(a.now), ExpiresAt: jwt.NewNumericDate(a.now.Add(lifetime))}}
	if a.agent != nil {
		c.Agent, c.Unlimited, c.Projects = a.agent, false, nil
	}
	text, err := jwt.NewWithClaims(id.method, c).SignedString(id.certificate.PrivateKey)
	if err != nil {
		return "", fmt.Errorf("sign who asks: %w", err)
	}
	return text, nil
}

// read reads claims that a key's holder signed. check validates them.
func read(text string, key crypto.PublicKey) (*claims, error) {
	method, err := methodOf(key)
	if err != nil {
		return nil, err
	}
	c := &claims{}
	_, err = jwt.NewParser(jwt.WithValidMethods([]string{method.Alg()}), jwt.WithoutClaimsValidation()).
		ParseWithClaims(text, c, func(*jwt.Token) (any, error) { return key, nil })
	if err != nil {
		return nil, fmt.Errorf("the signature of who asks does not hold: %w", err)
	}
	return c, nil
}

// check returns the principal if the signature belongs to this request.
func (c *claims) check(a ask) (auth.Principal, error) {
	err := jwt.NewValidator(jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(skew), jwt.WithIssuer(a.from),
		jwt.WithAudience(a.to), jwt.WithTimeFunc(func() time.Time { return a.now })).Validate(c)
	switch {
	case err != nil:
		return auth.Principal{}, fmt.Errorf("the signature of who asks does not count: %w", err)
	case c.IssuedAt == nil || c.ExpiresAt.Sub(c.IssuedAt.Time) > lifetime:
		return auth.Principal{}, errors.New("the signature of who asks has no time, or counts for too long")
	case c.Method != a.method || c.URI != a.uri || c.Body != hash(a.body):
		return auth.Principal{}, errors.New("the signature of who asks is that of another request")
	case c.Agent != nil && c.Agent.principal().Actor == c.Actor && c.Agent.Session != "" && c.Role == auth.RoleAgent:
		return c.Agent.principal(), nil
	case c.Actor == "" || c.Agent != nil || !passes(c.Role):
		return auth.Principal{}, fmt.Errorf("no access as %q with role %q", c.Actor, c.Role)
	}
	who := auth.Principal{Actor: c.Actor, Role: c.Role, TokenID: c.TokenID, Signed: c.Signed, Provider: c.Provider, Name: c.Name}
	if !c.Unlimited {
		who.Projects = auth.LimitTo(c.Projects...)
	}
	return who, nil
}

// passes reports whether a principal with this role may ask through another node. Agents need an Agent: their rights
// depend on the node they run on.
func passes(role auth.Role) bool {
	return role.Valid() || role == auth.RoleOperator || role == auth.RoleCI
}
