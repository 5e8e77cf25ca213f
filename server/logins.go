package server

import (
	"context"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/config"
)

// startLogins lets people log in at the providers of HARNESS_OIDC_FILE; none of them is asked before a person logs in.
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

// named are the secrets that this server gave out: named tokens and logins.
func (s *access) named() auth.Named {
	if s.accounts == nil {
		return s.tokens
	}
	return auth.NamedBy(s.tokens, s.accounts)
}

// bearers are the tokens of workloads, nil (and no nil pointer) without providers.
func (s *access) bearers() auth.Bearers {
	if s.providers == nil {
		return nil
	}
	return s.providers
}

// clientSecrets are the files by which this server is known to its providers.
func (s *access) clientSecrets() []string {
	if s.providers == nil {
		return nil
	}
	return s.providers.SecretFiles()
}

// holder is the principal of a named token's or login's id, false if it is not valid anymore.
func (s *access) holder(id string) (auth.Principal, bool) {
	if who, counts := s.tokens.Holder(id); counts || s.accounts == nil {
		return who, counts
	}
	return s.accounts.Holder(id)
}
