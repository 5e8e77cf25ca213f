package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// ErrNoProvider means that no login provider has that name.
var ErrNoProvider = errors.New("unknown OpenID Connect provider")

// Flow is a browser's state during a login at the provider. A browser that returns without it started no login here.
type Flow struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"` // of PKCE (RFC 7636)
}

// Begin returns the provider's URL at which a login starts (authorization code with PKCE). The provider returns the
// browser to the URL redirect. ErrNoProvider, ErrUnavailable.
func (s *Set) Begin(ctx context.Context, name, redirect string) (string, Flow, error) {
	p, issuer, found := s.login(name)
	if !found {
		return "", Flow{}, ErrNoProvider
	}
	client, _, err := issuer.configuration(ctx, p, redirect)
	if err != nil {
		return "", Flow{}, err
	}
	flow := Flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return client.AuthCodeURL(flow.State, oidc.Nonce(flow.Nonce), oauth2.S256ChallengeOption(flow.Verifier)), flow, nil
}

// Finish returns the person who logged in, according to the parameters with which the browser returns from the
// provider. ErrNoProvider, ErrUnavailable, *RefusedError.
func (s *Set) Finish(ctx context.Context, name, redirect string, flow Flow, back url.Values) (Identity, error) {
	p, issuer, found := s.login(name)
	if !found {
		return Identity{}, ErrNoProvider
	}
	if flow.State == "" || subtle.ConstantTimeCompare([]byte(flow.State), []byte(back.Get("state"))) != 1 {
		return Identity{}, refused("invalid_login_state", "this browser did not start this sign-in, or started another one since: sign in again")
	}
	client, about, err := issuer.configuration(ctx, p, redirect)
	if err != nil {
		return Identity{}, err
	}
	if by := back.Get("iss"); by != "" && by != p.Issuer || by == "" && about.NamesIssuer { // RFC 9207
		return Identity{}, refused("invalid_login_state", "the answer is of another issuer than %s", p.Issuer)
	}
	if code := back.Get("error"); code != "" {
		return Identity{}, refused("login_refused", "provider %s refuses the login: %.100s %.300s", p.Name, code, back.Get("error_description"))
	}
	token, err := client.Exchange(issuer.with(ctx), back.Get("code"), oauth2.VerifierOption(flow.Verifier))
	if err != nil {
		return Identity{}, exchangeError(p, err)
	}
	return s.identify(ctx, p, issuer, client, token, flow.Nonce)
}

// identify returns the person described by a provider's tokens. nonce is the nonce of the ID token, "" if the flow has
// none.
func (s *Set) identify(ctx context.Context, p *Provider, issuer *issuer, client *oauth2.Config, token *oauth2.Token, nonce string) (
	Identity, error) {
	raw, is := token.Extra("id_token").(string)
	if !is {
		return Identity{}, refused("invalid_bearer_token", "provider %s returns no ID token: request the scope openid", p.Name)
	}
	checked, claims, err := issuer.verified(ctx, raw, client.ClientID)
	if err != nil {
		return Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(nonce)) != 1 {
		return Identity{}, refused("invalid_login_state", "the ID token is of another login: its nonce is not that of this one")
	}
	// With several audiences, azp must name the client (OpenID Connect Core 1.0, section 3.1.3.7).
	if azp := textAt(claims, "azp"); azp != client.ClientID && (azp != "" || len(checked.Audience) > 1) {
		return Identity{}, refused("invalid_bearer_token", "the ID token was made for another client")
	}
	if err := complete(ctx, issuer, token, checked.Subject, claims); err != nil {
		return Identity{}, err
	}
	who, err := p.identity(claims, s.roles)
	if err != nil {
		return Identity{}, err
	}
	who.Expires = checked.Expiry
	if p.secret != "" {
		who.Refresh = token.RefreshToken // a public client's refresh token would work for any reader of the store
	}
	return who, nil
}

// complete adds the claims of the provider's UserInfo to those of an ID token.
func complete(ctx context.Context, issuer *issuer, token *oauth2.Token, subject string, claims map[string]any) error {
	provider, _, err := issuer.provider(ctx)
	if err != nil || provider.UserInfoEndpoint() == "" || token.AccessToken == "" {
		return err
	}
	info, err := provider.UserInfo(issuer.with(ctx), oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("%w: its UserInfo: %w", ErrUnavailable, err)
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("%w: its UserInfo: %w", ErrUnavailable, err)
	}
	if info.Subject != subject { // Core 1.0, section 5.3.2
		return refused("invalid_bearer_token", "UserInfo and the ID token are about different people")
	}
	for name, claim := range more {
		if _, is := claims[name]; !is {
			claims[name] = claim
		}
	}
	return nil
}

// exchangeError distinguishes a refusal by the provider from an unavailable provider.
func exchangeError(p *Provider, err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) && answer.Response.StatusCode < 500 && answer.Response.StatusCode != http.StatusTooManyRequests {
		return refused("login_refused", "provider %s refuses the login: %.100s %.300s", p.Name, answer.ErrorCode, answer.ErrorDescription)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
