package oidc

import (
	"time"

	"harness/internal/platform/auth"
)

// Set holds the providers of a server. It is safe for concurrent use.
type Set struct {
	providers []Provider
	issuers   map[string]*issuer // by their URL
	roles     map[string]auth.Role
	now       func() time.Time
	lives     auth.Lives
}

// NewSet makes a set; it sends no request before a provider is needed. translations come from HARNESS_ROLE_MAP.
func NewSet(providers []Provider, translations map[string]auth.Role, now func() time.Time) *Set {
	s := &Set{providers: providers, issuers: map[string]*issuer{}, roles: translations, now: now}
	for _, p := range providers {
		if s.issuers[p.Issuer] == nil {
			s.issuers[p.Issuer] = newIssuer(p.Issuer, now)
		}
	}
	return s
}

// Logins returns the names of the login providers.
func (s *Set) Logins() []string {
	names := []string{}
	for _, p := range s.providers {
		if p.Kind == KindLogin {
			names = append(names, p.Name)
		}
	}
	return names
}

// login returns a login provider and its issuer; false for an unknown name.
func (s *Set) login(name string) (*Provider, *issuer, bool) {
	for i := range s.providers {
		if p := &s.providers[i]; p.Name == name && p.Kind == KindLogin {
			return p, s.issuers[p.Issuer], true
		}
	}
	return nil, nil, false
}

// SecretFiles returns the files with the clients' secrets.
func (s *Set) SecretFiles() []string {
	var files []string
	for _, p := range s.providers {
		if p.secretPath != "" {
			files = append(files, p.secretPath)
		}
	}
	return files
}
