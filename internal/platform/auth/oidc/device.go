package oidc

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/oauth2"
)

// Device is a login that starts on one device and is confirmed on another (RFC 8628).
type Device struct {
	// Code identifies the login in requests. A person types UserCode at URL. CompleteURL, which may be "", includes
	// UserCode.
	Code, UserCode, URL, CompleteURL string
	// Interval is the time between two requests, ExpiresIn the validity of the codes, both in seconds.
	Interval, ExpiresIn int64
}

// ErrPending means that the person has not confirmed yet; ErrSlowDown also asks for an interval that is 5 s longer.
var (
	ErrPending  = errors.New("the login is not confirmed yet")
	ErrSlowDown = errors.New("the login is not confirmed yet; ask 5 seconds later than before")
)

// deviceGrant is the grant type of RFC 8628, section 3.4.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// BeginDevice starts the login of a device without a browser. ErrNoProvider, ErrUnavailable, *RefusedError.
func (s *Set) BeginDevice(ctx context.Context, name string) (Device, error) {
	p, issuer, found := s.login(name)
	if !found {
		return Device{}, ErrNoProvider
	}
	client, _, err := issuer.configuration(ctx, p, "")
	if err != nil {
		return Device{}, err
	}
	if client.Endpoint.DeviceAuthURL == "" {
		return Device{}, refused("login_refused", "provider %s has no device flow (RFC 8628): sign in with a browser", p.Name)
	}
	var options []oauth2.AuthCodeOption
	if p.secret != "" {
		options = append(options, oauth2.SetAuthURLParam("client_secret", p.secret))
	}
	began, err := client.DeviceAuth(issuer.with(ctx), options...)
	if err != nil {
		return Device{}, exchangeError(p, err)
	}
	device := Device{Code: began.DeviceCode, UserCode: began.UserCode, URL: began.VerificationURI,
		CompleteURL: began.VerificationURIComplete, Interval: max(began.Interval, 1), ExpiresIn: int64(began.Expiry.Sub(s.now()).Seconds())}
	if began.Interval == 0 {
		device.Interval = 5 // RFC 8628, section 3.2
	}
	return device, nil
}

// FinishDevice returns the person who confirmed the login of a device. ErrPending, ErrSlowDown, ErrNoProvider,
// ErrUnavailable, *RefusedError.
func (s *Set) FinishDevice(ctx context.Context, name, code string) (Identity, error) {
	p, issuer, found := s.login(name)
	if !found {
		return Identity{}, ErrNoProvider
	}
	client, _, err := issuer.configuration(ctx, p, "")
	if err != nil {
		return Identity{}, err
	}
	token, err := client.Exchange(issuer.with(ctx), "", oauth2.SetAuthURLParam("grant_type", deviceGrant),
		oauth2.SetAuthURLParam("device_code", code))
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		switch answer.ErrorCode {
		case "authorization_pending":
			return Identity{}, ErrPending
		case "slow_down":
			return Identity{}, ErrSlowDown
		}
	}
	if err != nil {
		return Identity{}, exchangeError(p, err)
	}
	return s.identify(ctx, p, issuer, client, token, "")
}

// Refresh returns the current identity of a login. subject is the login's subject. ErrNoProvider, ErrUnavailable, and
// *RefusedError for a login that has ended at the provider.
func (s *Set) Refresh(ctx context.Context, name, subject, refresh string) (Identity, error) {
	p, issuer, found := s.login(name)
	if !found {
		return Identity{}, ErrNoProvider
	}
	client, _, err := issuer.configuration(ctx, p, "")
	if err != nil {
		return Identity{}, err
	}
	token, err := client.TokenSource(issuer.with(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return Identity{}, exchangeError(p, err)
	}
	raw, is := token.Extra("id_token").(string)
	if !is { // providers may omit it; the login stays unchanged
		return Identity{Provider: p.Name, Subject: subject, Refresh: token.RefreshToken}, nil
	}
	who, err := s.refreshed(ctx, p, issuer, client, token, raw)
	if err == nil && who.Subject != subject {
		err = refused("invalid_bearer_token", "the refreshed ID token is about another person")
	}
	if err != nil {
		return Identity{}, fmt.Errorf("refresh a login: %w", err)
	}
	return who, nil
}

// refreshed returns who with the nonce, which a refreshed ID token may or may not repeat (Core 1.0, section 12.2).
func (s *Set) refreshed(ctx context.Context, p *Provider, issuer *issuer, client *oauth2.Config, token *oauth2.Token, raw string) (
	Identity, error) {
	checked, _, err := issuer.verified(ctx, raw, client.ClientID)
	if err != nil {
		return Identity{}, err
	}
	return s.identify(ctx, p, issuer, client, token, checked.Nonce)
}

// Key returns the key that encrypts a provider's refresh tokens: 32 bytes derived from the client's secret, nil without
// a secret.
func (s *Set) Key(name string) []byte {
	if p, _, found := s.login(name); found && p.secret != "" {
		return keyOf(p)
	}
	return nil
}
