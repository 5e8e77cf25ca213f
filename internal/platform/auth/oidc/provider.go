// Package oidc authenticates people at OpenID Connect providers, and workloads by those providers' tokens.
//
// It owns the providers, the checks of their tokens, and the mapping of claims to a caller: an actor, a name, a role
// and projects. It must never know how a login is stored or how a request carries it.
package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"harness/internal/platform/auth"
)

// The kinds of providers.
const (
	KindLogin    = "login"
	KindWorkload = "workload"
)

// Provider is an entry of HARNESS_OIDC_FILE.
type Provider struct {
	// Name is part of addresses and actors. Issuer is an https URL, or http on loopback.
	Name   string `json:"name"`
	Issuer string `json:"issuer"`
	// Kind is "login" (the default) for people, or "workload" for machines whose tokens the issuer signs.
	Kind string `json:"kind"`
	// ClientID is this server's client id at the provider. ClientSecretFile, readable only by the server's user,
	// contains its secret; without one it is a public client. A relative path starts at the folder of
	// HARNESS_OIDC_FILE.
	ClientID         string `json:"clientId"`
	ClientSecretFile string `json:"clientSecretFile"`
	// Scopes are the requested scopes; openid, profile and email by default.
	Scopes []string `json:"scopes"`
	// RoleClaim names the claim with people's roles, which HARNESS_ROLE_MAP translates; "role" by default. DefaultRole
	// is for people without a role; "" refuses them.
	RoleClaim   string `json:"roleClaim"`
	DefaultRole string `json:"defaultRole"`
	// ActorClaim names the claim with the caller's stable id, "sub" by default. NameClaim names the one with the
	// display name: name, preferred_username or email by default.
	ActorClaim string `json:"actorClaim"`
	NameClaim  string `json:"nameClaim"`
	// Audience is the required audience of a workload's token. Claims are its required claims: values in which * stands
	// for any text. Role is the workload's role.
	Audience string            `json:"audience"`
	Claims   map[string]string `json:"claims"`
	Role     string            `json:"role"`
	// Projects are the ids of the projects to which callers are limited; an empty list is no limit.
	Projects []string `json:"projects"`

	secret, secretPath string
}

// ConfigError is an error in HARNESS_OIDC_FILE, with its remedy.
type ConfigError struct{ Path, Message string }

// Error implements error.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("HARNESS_OIDC_FILE %s: %s", e.Path, e.Message)
}

// ReadProviders reads a file with a JSON list of providers, and the secrets of their clients. *ConfigError.
func ReadProviders(path string) ([]Provider, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, &ConfigError{path, fmt.Sprintf("cannot be read: %v", errors.Unwrap(err))}
	}
	var all []Provider
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(&all); err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the list")
		}
	}
	if err != nil {
		return nil, &ConfigError{path, fmt.Sprintf("is not a JSON list of providers: %v", err)}
	}
	names := map[string]bool{}
	for i := range all {
		all[i].complete()
		err := all[i].check()
		if err == nil && names[all[i].Name] {
			err = errors.New("another one has the same name")
		}
		if err == nil {
			err = all[i].readSecret(filepath.Dir(path))
		}
		if err != nil {
			return nil, &ConfigError{path, fmt.Sprintf("provider %d (%s): %v", i+1, all[i].Name, err)}
		}
		names[all[i].Name] = true
	}
	return all, nil
}

// complete sets the defaults.
func (p *Provider) complete() {
	if p.Kind == "" {
		p.Kind = KindLogin
	}
	if p.RoleClaim == "" {
		p.RoleClaim = "role"
	}
	if p.ActorClaim == "" {
		p.ActorClaim = "sub"
	}
	if p.Scopes == nil {
		p.Scopes = []string{"openid", "profile", "email"}
	}
}

func (p *Provider) check() error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`).MatchString(p.Name) {
		return errors.New("name: use 1 to 32 lower-case letters, digits and dashes, a letter or digit first")
	}
	issuer, err := url.Parse(p.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" || !auth.IsLoopback(issuer.Hostname())) {
		return errors.New("issuer: use an https URL (http on loopback alone: on the way anybody could change its keys)")
	}
	for _, project := range p.Projects {
		if project == "" {
			return errors.New("projects: use ids of projects, or leave it out for no limit")
		}
	}
	switch p.Kind {
	case KindLogin:
		return p.checkLogin()
	case KindWorkload:
		return p.checkWorkload()
	}
	return errors.New("kind: use login or workload")
}

func (p *Provider) checkLogin() error {
	switch {
	case p.ClientID == "":
		return errors.New("clientId: name this server's client at the provider")
	case !strings.Contains(" "+strings.Join(p.Scopes, " ")+" ", " openid "):
		return errors.New("scopes: openid is missing, without which there is no ID token")
	case p.DefaultRole != "" && !known(p.DefaultRole):
		return errors.New("defaultRole: use " + roles + ", or leave it out to refuse who has no role")
	case p.Audience != "" || len(p.Claims) > 0 || p.Role != "":
		return errors.New("audience, claims and role are for kind workload: use roleClaim and defaultRole")
	}
	return nil
}

func (p *Provider) checkWorkload() error {
	switch {
	case p.Audience == "":
		return errors.New("audience: name what tokens must be for, else those made for other services count here")
	case len(p.Claims) == 0:
		return errors.New(`claims: say whose tokens count, such as {"repository": "org/repo"}`)
	case !known(p.Role):
		return errors.New("role: use " + roles)
	case p.ClientID != "" || p.ClientSecretFile != "" || p.DefaultRole != "":
		return errors.New("clientId, clientSecretFile and defaultRole are for kind login")
	}
	for name, value := range p.Claims {
		if strings.Trim(value, "*") == "" {
			return fmt.Errorf("claims: %s matches every value: name one, in which * may stand for a part", name)
		}
	}
	return nil
}

// roles are the roles that a provider's entry can grant, which excludes owner and system.
const roles = "viewer, ci, operator or admin"

func known(word string) bool {
	role, is := auth.ParseRole(word)
	return is && role != auth.RoleOwner && role != auth.RoleSystem
}

func (p *Provider) readSecret(folder string) error {
	if p.ClientSecretFile == "" {
		return nil
	}
	path := p.ClientSecretFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("clientSecretFile: %w", err)
	}
	if info.Mode().Perm()&fs.FileMode(0o077) != 0 {
		return fmt.Errorf("clientSecretFile: others may read %s: chmod 600 %s", path, path)
	}
	p.secretPath = path
	text, err := os.ReadFile(path) //nolint:gosec // the operator names it
	if p.secret = strings.TrimSpace(string(text)); err == nil && p.secret == "" {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		return fmt.Errorf("clientSecretFile: %w", err)
	}
	return nil
}
