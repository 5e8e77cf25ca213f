package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/platform/config"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/environment"
	"harness/server/datadir"
)

// environment returns the policy for the part of the server's environment that runtimes inherit.
func (s *runtimes) environment() environment.Policy {
	return environmentOf(s.cfg)
}

func environmentOf(cfg *config.Config) environment.Policy {
	return environment.Policy{Mode: cfg.RuntimeEnv, Secrets: cfg.KeptSecrets(), Allow: cfg.RuntimeEnvAllow,
		Lookup: func(name string) string {
			if name == "CODEX_HOME" && cfg.CodexHome != "" {
				return cfg.CodexHome
			}
			return os.Getenv(name)
		}}
}

// ProvidersOf returns the clouds in which a runtime can reach its models, with the variables of the server's
// environment that it gets.
func ProvidersOf(cfg *config.Config, name string) []environment.ProviderStatus {
	environ := os.Environ()
	if name != codex.Name && environment.Level(cfg.CredentialLevel(name)) != environment.LevelShared { // it has another home
		environ = slices.DeleteFunc(environ, func(assignment string) bool { return strings.HasPrefix(assignment, "HOME=") })
	}
	if cfg.CodexHome != "" {
		environ = append(environ, "CODEX_HOME="+cfg.CodexHome)
	}
	profiles := acp.Shipped()
	if own, err := acp.Configured(cfg.ACPAgents); err == nil { // startup reports an error
		profiles = append(profiles, own...)
	}
	var families []string
	for _, profile := range profiles {
		if profile.Name == name {
			families = profile.Families
		}
	}
	return environmentOf(cfg).ProvidersOf(environ, name, families...)
}

// homes returns the folders where runtimes store their logins and state, and the credential level of a runtime.
func (s *runtimes) homes(confined Confinement, runtime string) (environment.Homes, environment.Level, error) {
	dir := s.cfg.CredentialDir
	if dir == "" {
		data, err := filepath.Abs(s.dir.Path)
		if err != nil {
			return environment.Homes{}, "", err
		}
		dir = filepath.Join(data, "credentials")
	}
	plan := confined.Plan
	return environment.Homes{Dir: dir, User: plan.User, UID: plan.UID, GID: plan.GID},
		environment.Level(s.cfg.CredentialLevel(runtime)), nil
}

// home makes the home of a runtime whose sessions share one, and a confinement that leaves the home visible.
func (s *runtimes) home(confined Confinement, runtime string) (environment.Home, Confinement, error) {
	homes, level, err := s.homes(confined, runtime)
	if err != nil {
		return environment.Home{}, Confinement{}, err
	}
	home, err := homes.Of(level, runtime, s.cfg.CredentialNamespace, "")
	if err != nil {
		return environment.Home{}, Confinement{}, err
	}
	confined, err = confined.keeping(home.Dir)
	return home, confined, err
}

// sessionHome returns the home of one session of a runtime whose sessions have separate homes, and the folder that has
// to stay visible for it.
func (s *runtimes) sessionHome(homes environment.Homes, confined Confinement, runtime, session string) (environment.Home,
	[]string, error) {
	home, err := homes.Of(environment.LevelEphemeral, runtime, "", session)
	if err != nil {
		return environment.Home{}, nil, err
	}
	confined.Plan.Keep = nil
	confined, err = confined.keeping(home.Dir)
	return home, confined.Plan.Keep, err
}

// keeping returns a confinement in which a folder stays visible even inside a hidden one, "" for none.
func (c Confinement) keeping(folder string) (Confinement, error) {
	if folder == "" {
		return c, nil
	}
	path, err := datadir.RealPath(folder)
	if err != nil {
		return Confinement{}, err
	}
	if slices.ContainsFunc(c.Plan.Hide, func(hidden string) bool { return datadir.Within(hidden, path) && hidden != path }) {
		c.Plan.Keep = append(slices.Clone(c.Plan.Keep), path)
	}
	return c, nil
}
