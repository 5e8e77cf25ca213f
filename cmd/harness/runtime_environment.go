package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/platform/config"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/environment"
)

// environment says what runtimes get of the server's environment.
func (s *Server) environment() environment.Policy {
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

// providersOf are the clouds in which a runtime can reach its models, with what it gets of the server's environment.
func providersOf(cfg *config.Config, name string) []environment.ProviderStatus {
	environ := os.Environ()
	if name != codex.Name && environment.Level(cfg.CredentialLevel(name)) != environment.LevelShared { // it has another home
		environ = slices.DeleteFunc(environ, func(assignment string) bool { return strings.HasPrefix(assignment, "HOME=") })
	}
	if cfg.CodexHome != "" {
		environ = append(environ, "CODEX_HOME="+cfg.CodexHome)
	}
	profiles := acp.Shipped()
	if own, err := acp.Configured(cfg.ACPAgents); err == nil { // told at the start otherwise
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

// homes are the folders where runtimes keep their logins and state, and the level that a runtime's are at.
func (s *Server) homes(confined confinement, runtime string) (environment.Homes, environment.Level, error) {
	dir := s.cfg.CredentialDir
	if dir == "" {
		data, err := filepath.Abs(s.dir.path)
		if err != nil {
			return environment.Homes{}, "", err
		}
		dir = filepath.Join(data, "credentials")
	}
	plan := confined.plan
	return environment.Homes{Dir: dir, User: plan.User, UID: plan.UID, GID: plan.GID},
		environment.Level(s.cfg.CredentialLevel(runtime)), nil
}

// home makes the home of a runtime whose sessions share one, and the way of starting it that leaves the home visible.
func (s *Server) home(confined confinement, runtime string) (environment.Home, confinement, error) {
	homes, level, err := s.homes(confined, runtime)
	if err != nil {
		return environment.Home{}, confinement{}, err
	}
	home, err := homes.Of(level, runtime, s.cfg.CredentialNamespace, "")
	if err != nil {
		return environment.Home{}, confinement{}, err
	}
	confined, err = confined.keeping(home.Dir)
	return home, confined, err
}

// sessionHome is the home of one session of a runtime whose sessions have one each, and the folder that has to stay
// visible for it.
func (s *Server) sessionHome(homes environment.Homes, confined confinement, runtime, session string) (environment.Home,
	[]string, error) {
	home, err := homes.Of(environment.LevelEphemeral, runtime, "", session)
	if err != nil {
		return environment.Home{}, nil, err
	}
	confined.plan.Keep = nil
	confined, err = confined.keeping(home.Dir)
	return home, confined.plan.Keep, err
}

// keeping is a confinement in which a folder that may be in a hidden one stays visible, "" for none.
func (c confinement) keeping(folder string) (confinement, error) {
	if folder == "" {
		return c, nil
	}
	path, err := realPath(folder)
	if err != nil {
		return confinement{}, err
	}
	if slices.ContainsFunc(c.plan.Hide, func(hidden string) bool { return within(hidden, path) && hidden != path }) {
		c.plan.Keep = append(slices.Clone(c.plan.Keep), path)
	}
	return c, nil
}
