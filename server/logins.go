package server

import (
	"context"

	"harness/internal/platform/auth"
	"harness/internal/platform/auth/logins"
	"harness/internal/platform/auth/oidc"
	"harness/internal/platform/config"
)

// startLogins lets people log in at the providers of HARNESS_OIDC_FILE; none of them is asked before somebody does.
func (s *Server) startLogins(ctx context.Context) error {
	if s.cfg.OIDCFile == "" {
		return nil
	}
	providers, err := oidc.ReadProviders(s.cfg.OIDCFile)
	if err != nil {
		return &config.UsageError{Err: err}
	}
	s.providers = oidc.NewSet(providers, roleMap(s.cfg), s.now)
	s.logins = logins.New(logins.Options{Journal: s.journal, DB: s.db, Providers: s.providers, Clock: s.now,
		Logger: s.log.With().Str("package", "logins").Logger()})
	return s.logins.Start(ctx)
}

func (s *Server) stopLogins(ctx context.Context) error {
	if s.logins == nil {
		return nil
	}
	return s.logins.Stop(ctx)
}

// named are the secrets that this server gave out: named tokens and logins.
func (s *Server) named() auth.Named {
	if s.logins == nil {
		return s.tokens
	}
	return auth.NamedBy(s.tokens, s.logins)
}

// bearers are the tokens of workloads, nil (and no nil pointer) without providers.
func (s *Server) bearers() auth.Bearers {
	if s.providers == nil {
		return nil
	}
	return s.providers
}

// clientSecrets are the files by which this server is known to its providers.
func (s *Server) clientSecrets() []string {
	if s.providers == nil {
		return nil
	}
	return s.providers.SecretFiles()
}

// holder is who comes in by a named token or a login with an id, false when it does not count (any more).
func (s *Server) holder(id string) (auth.Principal, bool) {
	if who, counts := s.tokens.Holder(id); counts || s.logins == nil {
		return who, counts
	}
	return s.logins.Holder(id)
}
