package server

import (
	"context"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/config"
)

// startLogins enables logins at the providers of HARNESS_OIDC_FILE. The server contacts a provider only when a person
// logs in.
func (s *access) startLogins(ctx context.Context) error {
	if s.cfg.OIDCFile == "" {
		return nil
	}
	providers, err := oidc.ReadProviders(s.cfg.OIDCFile)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	s.providers = oidc.NewSet(providers, roleMap(s.cfg), s.now)
	s.accounts = logins.New(logins.Options{Journal: s.journal, DB: s.db, Providers: s.providers, Clock: s.now,
		Logger: s.log.With().Str("package", "logins").Logger()})
	return s.accounts.Start(ctx)
}

func (s *access) stopLogins(ctx context.Context) error {
	if s.accounts == nil {
		return nil
	}
	return s.accounts.Stop(ctx)
}

// named returns the secrets that this server issued: named tokens and logins.
func (s *access) named() auth.Named {
	if s.accounts == nil {
		return s.tokens
	}
	return auth.NamedBy(s.tokens, s.accounts)
}

// bearers returns the tokens of workloads, nil (not a nil pointer) without providers.
func (s *access) bearers() auth.Bearers {
	if s.providers == nil {
		return nil
	}
	return s.providers
}

// clientSecrets returns the files with this server's client secrets for its providers.
func (s *access) clientSecrets() []string {
	if s.providers == nil {
		return nil
	}
	return s.providers.SecretFiles()
}

// holder returns the principal of the id of a named token or login, false if it is no longer valid.
func (s *access) holder(id string) (auth.Principal, bool) {
	if who, counts := s.tokens.Holder(id); counts || s.accounts == nil {
		return who, counts
	}
	return s.accounts.Holder(id)
}
