package oidc

import (
	"time"

	"harness/internal/platform/auth"
)

// Set are the providers of a server. Safe for concurrent use.
type Set struct {
	providers []Provider
	issuers   map[string]*issuer // by their URL
	roles     map[string]auth.Role
	now       func() time.Time
	lives     auth.Lives
}

// NewSet makes a set; it sends no request before a provider is needed. translations are those of HARNESS_ROLE_MAP.
func NewSet(providers []Provider, translations map[string]auth.Role, now func() time.Time) *Set {
	s := &Set{providers: providers, issuers: map[string]*issuer{}, roles: translations, now: now}
	for _, p := range providers {
		if s.issuers[p.Issuer] == nil {
			s.issuers[p.Issuer] = newIssuer(p.Issuer, now)
		}
	}
	return s
}

// Logins are the names of the providers for people.
func (s *Set) Logins() []string {
	names := []string{}
	for _, p := range s.providers {
		if p.Kind == KindLogin {
			names = append(names, p.Name)
		}
	}
	return names
}

// login is a provider for people, and its issuer; false for an unknown name.
func (s *Set) login(name string) (*Provider, *issuer, bool) {
	for i := range s.providers {
		if p := &s.providers[i]; p.Name == name && p.Kind == KindLogin {
			return p, s.issuers[p.Issuer], true
		}
	}
	return nil, nil, false
}

// SecretFiles are the files with the secrets of clients.
func (s *Set) SecretFiles() []string {
	var files []string
	for _, p := range s.providers {
		if p.secretPath != "" {
			files = append(files, p.secretPath)
		}
	}
	return files
}
