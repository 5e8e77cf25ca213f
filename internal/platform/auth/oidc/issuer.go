package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Limits of requests to issuers.
const (
	patience = 10 * time.Second // for one answer
	pause    = 5 * time.Second  // between reads of an issuer's description, or of its keys
	fresh    = 10 * time.Minute // after this age both are read again, so that withdrawn keys become invalid
	stale    = time.Hour        // after this age both are no longer used
)

// ErrUnavailable means that a provider does not answer correctly, so none of its tokens can be checked.
var ErrUnavailable = errors.New("the OpenID Connect provider is unavailable")

// issuer is an issuer's published description, read at first use, and again after a failure. Safe for concurrent use.
type issuer struct {
	url    string
	client *http.Client
	keys   *pacedKeys
	now    func() time.Time

	mu          sync.Mutex
	known       *oidc.Provider
	read, tried time.Time
	failed      error
}

// metadata are the members of the description that go-oidc does not read.
type metadata struct {
	Keys        string   `json:"jwks_uri"`
	ClientAuth  []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

func newIssuer(url string, now func() time.Time) *issuer {
	keys := &pacedKeys{next: http.DefaultTransport, now: now}
	// A redirect could lead from https to anywhere.
	client := &http.Client{Timeout: patience, Transport: keys, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &issuer{url: url, client: client, keys: keys, now: now}
}

// with returns a context in which the libraries use this issuer's client.
func (i *issuer) with(ctx context.Context) context.Context { return oidc.ClientContext(ctx, i.client) }

// provider returns the issuer's provider, from its description. ErrUnavailable.
func (i *issuer) provider(ctx context.Context) (*oidc.Provider, metadata, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	due := i.known == nil || i.now().Sub(i.read) >= fresh
	if due && (i.tried.IsZero() || i.now().Sub(i.tried) >= pause) {
		i.tried = i.now()
		// Not the caller's context, since other callers need the description, too.
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		var read *oidc.Provider
		if read, i.failed = oidc.NewProvider(i.with(asking), i.url); i.failed == nil {
			i.known, i.read = read, i.now()
		}
	}
	if i.known == nil || i.now().Sub(i.read) >= stale {
		return nil, metadata{}, fmt.Errorf("%w: %w", ErrUnavailable, i.failed)
	}
	var about metadata
	if err := i.known.Claims(&about); err != nil {
		return nil, metadata{}, fmt.Errorf("%w: its description: %w", ErrUnavailable, err)
	}
	i.keys.pace(about.Keys)
	return i.known, about, nil
}

// verified returns the claims of the issuer's token for an audience, after checking signature, issuer, audience and
// times. Unsigned tokens, and tokens signed with a secret, always fail: only the issuer's public keys count.
// ErrUnavailable, *RefusedError.
func (i *issuer) verified(ctx context.Context, token, audience string) (*oidc.IDToken, map[string]any, error) {
	provider, _, err := i.provider(ctx)
	if err != nil {
		return nil, nil, err
	}
	verifier := provider.Verifier(&oidc.Config{ClientID: audience, Now: i.now}) // the verifiers share the cached keys
	checked, err := verifier.Verify(i.with(ctx), token)
	if err != nil && i.keys.down() {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return nil, nil, refused("invalid_bearer_token", "the token is invalid: %w", err)
	}
	claims := map[string]any{}
	if err := checked.Claims(&claims); err != nil {
		return nil, nil, refused("invalid_bearer_token", "the claims of the token: %w", err)
	}
	return checked, claims, nil
}

// configuration returns this server's client configuration at the provider. ErrUnavailable.
func (i *issuer) configuration(ctx context.Context, p *Provider, redirect string) (*oauth2.Config, metadata, error) {
	provider, about, err := i.provider(ctx)
	if err != nil {
		return nil, metadata{}, err
	}
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default (Discovery 1.0, section 3)
	if p.secret == "" || len(about.ClientAuth) > 0 && !slices.Contains(about.ClientAuth, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.secret, Endpoint: endpoint, RedirectURL: redirect, Scopes: p.Scopes},
		about, nil
}

// pacedKeys limits how often an issuer's keys are read, because each token with an unknown key triggers a read.
type pacedKeys struct {
	next http.RoundTripper
	now  func() time.Time

	mu     sync.Mutex
	url    string
	read   time.Time
	failed bool
}

func (p *pacedKeys) pace(url string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.url = url
}

// down reports whether the last read of the keys failed.
func (p *pacedKeys) down() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// RoundTrip implements http.RoundTripper.
func (p *pacedKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	isKeys := p.url != "" && r.URL.String() == p.url
	early := isKeys && !p.read.IsZero() && p.now().Sub(p.read) < pause
	if isKeys && !early {
		p.read = p.now()
	}
	p.mu.Unlock()
	if early {
		return nil, errors.New("the keys of the issuer were read a moment ago")
	}
	response, err := p.next.RoundTrip(r)
	if isKeys {
		p.mu.Lock()
		p.failed = err != nil || response.StatusCode != http.StatusOK
		p.mu.Unlock()
	}
	return response, err
}
